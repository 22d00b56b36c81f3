internal import BrumeSystem
internal import Glibc

TLSMemory.keepRecordBuffers()
exit(CommandLineRunner.run(Array(CommandLine.arguments.dropFirst())).rawValue)
