# 20 flows through a queue in ns-2, as queues.toml has them.
#
# ns queues.tcl DropTail|RED SEED AGENT SINK [CONTROL [ACCESS]]
#   AGENT: Linux, Sack1 or Newreno; SINK: TCPSink/Sack1, TCPSink/Sack1/DelAck or TCPSink
#   CONTROL of AGENT Linux: reno (default), naive_reno or none, which is ns-2's own
#   ACCESS: rate of the hosts' links, 1000Mb by default
#
# Prints what passed the queue from 20 s to 200 s. The queue is without the packet in
# service, as ns-2 counts it.

lassign [concat $argv {reno 1000Mb}] kind seed agent sink control access
if {[llength $argv] == 5} {
    set access 1000Mb
}
set ns [new Simulator]
$defaultRNG seed $seed

foreach {name value} {
    gentle_ false thresh_ 20 maxthresh_ 60 q_weight_ 0.002 linterm_ 10 bytes_ false
    queue_in_bytes_ false setbit_ false mean_pktsize_ 1500 adaptive_ 0 wait_ false
} {
    Queue/RED set $name $value
}
set near [$ns node]
set far [$ns node]
$ns duplex-link $near $far 50Mb 20ms $kind
$ns queue-limit $near $far [expr {$kind eq "RED" ? 400 : 100}]
$ns queue-limit $far $near 100000
set queue [$ns monitor-queue $near $far ""]
$queue set-pkts-integrator [new Integrator]

set begin [new RandomVariable/Uniform]
$begin set min_ 0
$begin set max_ 2
for {set i 0} {$i < 20} {incr i} {
    set host [$ns node]
    set peer [$ns node]
    $ns duplex-link $host $near $access [expr {1.0 + $i}]ms DropTail
    $ns duplex-link $far $peer 1000Mb 1ms DropTail
    foreach {x y} [list $host $near $near $host $far $peer $peer $far] {
        $ns queue-limit $x $y 100000
    }
    set tcp($i) [new Agent/TCP/$agent]
    foreach {name value} {
        packetSize_ 1460 window_ 10000 windowInit_ 10 tcpTick_ 0.001 minrto_ 0.2 overhead_ 0
    } {
        $tcp($i) set $name $value
    }
    $tcp($i) set fid_ $i
    if {$agent eq "Linux" && $control ne "none"} {
        $ns at 0 "$tcp($i) select_ca $control"
    }
    set end [new Agent/$sink]
    $ns attach-agent $host $tcp($i)
    $ns attach-agent $peer $end
    $ns connect $tcp($i) $end
    set source [new Application/FTP]
    $source attach-agent $tcp($i)
    $ns at [$begin value] "$source start"
}

proc seen {} {
    global queue tcp
    set seen [list]
    foreach name {parrivals_ pdrops_ bdepartures_} {
        lappend seen [$queue set $name]
    }
    lappend seen [[$queue get-pkts-integrator] set sum_]
    for {set i 0} {$i < 20} {incr i} {
        lappend seen [$tcp($i) set ack_]
    }
    return $seen
}

proc finish {} {
    global before tcp
    set counts [list]
    foreach old $before new [seen] {
        lappend counts [expr {$new - $old}]
    }
    lassign $counts arrivals drops octets queued
    set sum 0.0
    set squares 0.0
    foreach share [lrange $counts 4 end] {
        set sum [expr {$sum + $share}]
        set squares [expr {$squares + double($share) * $share}]
    }
    set timeouts 0
    for {set i 0} {$i < 20} {incr i} {
        incr timeouts [$tcp($i) set nrexmit_]
    }
    puts [format "dropped %.3f %%, link full %.3f, queue %.1f, fairness %.3f, timeouts %d" \
        [expr {100.0 * $drops / $arrivals}] [expr {$octets * 8 / 180.0 / 50e6}] \
        [expr {$queued / 180.0}] [expr {$sum * $sum / 20 / $squares}] $timeouts]
    exit 0
}
$ns at 20 "set before \[seen\]"
$ns at 200 finish
$ns run
