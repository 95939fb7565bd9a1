module example.org/small

go 1.19

require example.org/words v0.0.0
