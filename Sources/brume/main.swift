internal import Glibc

exit(CommandLineRunner.run(Array(CommandLine.arguments.dropFirst())).rawValue)
