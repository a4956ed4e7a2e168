# A flow of ns-2's Linux code over a path on which named packets are lost.
#
# ns controls.tcl CONTROL PARAMETER RATE DELAY SECONDS STEP PACKET...
#   PARAMETER: name and value of a parameter of its module, or empty; DELAY is one way; packets
#   are counted from 1, data only
#
# Prints each STEP, from half a step on: time, cwnd and ssthresh in segments, packets
# retransmitted. Lines of other forms are messages of ns-2.

lassign $argv control parameter rate delay seconds step
set ns [new Simulator]
set near [$ns node]
set far [$ns node]
$ns duplex-link $near $far $rate $delay DropTail
$ns queue-limit $near $far 1000000
$ns queue-limit $far $near 1000000
set losses [new ErrorModel/List]
# ns-2 counts from 0.
set from_0 {}
foreach packet [lrange $argv 6 end] {
    lappend from_0 [expr {$packet - 1}]
}
$losses droplist $from_0
$losses drop-target [new Agent/Null]
$ns lossmodel $losses $near $far

set tcp [new Agent/TCP/Linux]
foreach {name value} {
    packetSize_ 1460 window_ 1000000 windowInit_ 10 tcpTick_ 0.001 minrto_ 0.2 overhead_ 0
    timestamps_ true
} {
    $tcp set $name $value
}
set end [new Agent/TCPSink/Sack1]
$end set ts_echo_rfc1323_ true
$ns attach-agent $near $tcp
$ns attach-agent $far $end
$ns connect $tcp $end
$ns at 0 "$tcp select_ca $control"
if {$parameter ne ""} {
    $ns at 0 "$tcp set_ca_default_param $control $parameter"
}
set source [new Application/FTP]
$source attach-agent $tcp
$ns at 0 "$source start"

proc sample {} {
    global ns tcp step
    puts "sample [$ns now] [$tcp set cwnd_] [$tcp set ssthresh_] [$tcp set nrexmitpack_]"
    $ns at [expr {[$ns now] + $step}] sample
}
$ns at [expr {$step / 2.0}] sample
$ns at $seconds "exit 0"
$ns run
