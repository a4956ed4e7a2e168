# Workload C of `cargo xtask bench` in ns-2: 100 flows over 1 Gbit/s and 20 ms for 10 s, a
# queue of one BDP, starts 4 ms apart. All agents are at the two ends of one link, which
# costs ns-2 least.
#
# ns dumbbell.tcl [AGENT [SINK]]
#
# Prints the data packets that were sent.

lassign [concat $argv {Sack1 TCPSink/Sack1/DelAck}] agent sink
if {[llength $argv] == 1} {
    set sink TCPSink/Sack1/DelAck
}
set ns [new Simulator]
set near [$ns node]
set far [$ns node]
$ns duplex-link $near $far 1000Mb 10ms DropTail
$ns queue-limit $near $far 1666
$ns queue-limit $far $near 100000
for {set i 0} {$i < 100} {incr i} {
    set tcp($i) [new Agent/TCP/$agent]
    foreach {name value} {
        packetSize_ 1460 window_ 11000 windowInit_ 10 tcpTick_ 0.001 minrto_ 0.2 overhead_ 0
    } {
        $tcp($i) set $name $value
    }
    $tcp($i) set fid_ $i
    set end [new Agent/$sink]
    $ns attach-agent $near $tcp($i)
    $ns attach-agent $far $end
    $ns connect $tcp($i) $end
    set source [new Application/FTP]
    $source attach-agent $tcp($i)
    $ns at [expr {0.004 * $i}] "$source start"
}

proc finish {} {
    global tcp
    set packets 0
    for {set i 0} {$i < 100} {incr i} {
        incr packets [$tcp($i) set ndatapack_]
    }
    puts "packets $packets"
    exit 0
}
$ns at 10 finish
$ns run
