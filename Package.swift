// swift-tools-version: 6.2
import Foundation
import PackageDescription

// The targets and their arrows are the house plan: see CONTRIBUTING.md. An arrow that is not here does not exist.

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

func library(_ name: String, _ dependencies: [Target.Dependency], path: String? = nil) -> Target {
    .target(name: name, dependencies: dependencies, path: path, swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: settings)
}

let package = Package(
    name: "brume",
    products: [
        .executable(name: "brume", targets: ["brume"]),
        .library(name: "BrumeKit", targets: ["BrumeKit"]),
        .library(name: "CloudKit", targets: ["CloudKit"]),
        .library(name: "BrumeTesting", targets: ["BrumeTesting"]),
        .executable(name: "notes-example", targets: ["notes-example"]),
        .executable(name: "shared-list-example", targets: ["shared-list-example"]),
    ],
    targets: [
        // C enters here and nowhere else.
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CProtobufC", pkgConfig: "libprotobuf-c", providers: [.apt(["libprotobuf-c-dev"])]),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
        .target(name: "CICU", linkerSettings: [.linkedLibrary("icuuc")]),
        .systemLibrary(name: "CLibm"),
        .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CMicrohttpd", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .target(name: "CBrumeProto", dependencies: ["CProtobufC"]),
        .target(name: "CBrume"),

        library("BrumeLock", []),
        library("BrumeRandom", []),
        library("BrumeModel", []),
        library("BrumeGeodesy", ["CLibm"]),
        library("BrumeEncryption", ["CSodium"]),
        library("BrumeRecord", ["BrumeModel", "CBrumeProto"]),
        library("BrumeProtocol", ["BrumeModel", "BrumeRecord", "CBrumeProto"]),
        library(
            "BrumeStore",
            ["BrumeLock", "BrumeModel", "BrumeGeodesy", "BrumeRecord", "CBrume", "CBrumeProto", "CICU", "CZstd"]),
        library("BrumeSystem", ["BrumeLock", "CBrume", "COpenSSL"]),
        library("BrumeHTTP", ["BrumeSystem", "CMicrohttpd"]),
        library(
            "BrumeService",
            ["BrumeLock", "BrumeModel", "BrumeEncryption", "BrumeRecord", "BrumeStore", "BrumeSystem"]),
        library(
            "BrumeServer",
            [
                "BrumeLock", "BrumeModel", "BrumeProtocol", "BrumeStore", "BrumeSystem", "BrumeHTTP",
                "BrumeService",
            ]),
        library(
            "BrumeKit",
            [
                "BrumeLock", "BrumeRandom", "BrumeModel", "BrumeGeodesy", "BrumeEncryption", "BrumeRecord",
                "BrumeProtocol", "BrumeSystem",
            ]),
        library("BrumeAdmin", ["BrumeModel", "BrumeProtocol", "BrumeKit"]),
        library("CloudKit", ["BrumeKit"]),
        library(
            "BrumeTesting",
            [
                "BrumeLock", "BrumeModel", "BrumeEncryption", "BrumeRecord", "BrumeProtocol", "BrumeStore",
                "BrumeSystem", "BrumeService", "BrumeServer", "BrumeKit",
            ]),
        library(
            "BrumeLoad", ["BrumeLock", "BrumeRandom", "BrumeModel", "BrumeRecord", "BrumeProtocol", "BrumeSystem"]),
        .executableTarget(
            name: "brume",
            dependencies: [
                "BrumeLock", "BrumeModel", "BrumeStore", "BrumeSystem", "BrumeService", "BrumeServer", "BrumeKit",
                "BrumeAdmin", "BrumeLoad",
            ],
            swiftSettings: settings),

        // Ours, for tests: virtual clock, simulated disk and network, naive reference model. No product.
        library(
            "BrumeTestKit",
            [
                "BrumeLock", "BrumeRandom", "BrumeModel", "BrumeEncryption", "BrumeGeodesy", "BrumeRecord",
                "BrumeProtocol", "BrumeStore", "BrumeSystem", "BrumeService", "BrumeServer", "BrumeKit",
            ]),
        .executableTarget(name: "brume-sim", dependencies: ["BrumeTestKit"], swiftSettings: settings),
        .target(name: "CAllocations", path: "Benchmarks/CAllocations"),
        .executableTarget(
            name: "brume-bench",
            dependencies: [
                "CAllocations",
                "BrumeLock", "BrumeRandom", "BrumeTestKit", "BrumeKit", "BrumeService", "BrumeServer", "BrumeStore",
                "BrumeSystem", "BrumeProtocol", "BrumeRecord", "BrumeModel", "BrumeEncryption",
            ],
            path: "Benchmarks/Store", swiftSettings: settings),
        // Apps as their developers would write them. BrumeKit is named so that a change of it builds them again: what
        // CloudKit re-exports is no change of CloudKit.
        library("NotesKit", ["CloudKit", "BrumeKit", "CSQLite"], path: "Examples/Notes/NotesKit"),
        .executableTarget(
            name: "notes-example", dependencies: ["NotesKit", "CloudKit", "BrumeKit"],
            path: "Examples/Notes/notes-example",
            swiftSettings: settings),
        library("SharedListKit", ["CloudKit", "BrumeKit"], path: "Examples/SharedList/SharedListKit"),
        .executableTarget(
            name: "shared-list-example", dependencies: ["SharedListKit", "BrumeTesting", "CloudKit", "BrumeKit"],
            path: "Examples/SharedList/shared-list-example",
            swiftSettings: settings),
        // What hostile bytes reach, as functions of bytes: fuzzed by Fuzz/Runner, and fed the corpus by every test run.
        library(
            "BrumeFuzz",
            [
                "BrumeService", "BrumeServer", "BrumeStore", "BrumeKit", "BrumeProtocol", "BrumeRecord", "BrumeModel",
                "BrumeEncryption", "BrumeTestKit",
            ],
            path: "Fuzz/BrumeFuzz"),

        tests("BrumeModelTests", ["BrumeRandom", "BrumeModel"]),
        tests("BrumeEncryptionTests", ["BrumeEncryption", "CSodium"]),
        tests("BrumeRecordTests", ["BrumeModel", "BrumeRecord", "BrumeTestKit", "CBrumeProto"]),
        tests(
            "BrumeProtocolTests",
            ["BrumeRandom", "BrumeModel", "BrumeRecord", "BrumeProtocol", "BrumeTestKit", "CBrumeProto"]),
        tests(
            "BrumeStoreTests",
            [
                "BrumeLock", "BrumeRandom", "BrumeModel", "BrumeGeodesy", "BrumeRecord", "BrumeProtocol", "BrumeStore",
                "BrumeTestKit", "CBrume", "CBrumeProto",
            ]),
        tests("BrumeSystemTests", ["BrumeLock", "BrumeRandom", "BrumeSystem", "BrumeTestKit"]),
        tests(
            "BrumeServerTests",
            [
                "BrumeLock", "BrumeRandom", "BrumeModel", "BrumeEncryption", "BrumeRecord", "BrumeProtocol",
                "BrumeStore", "BrumeSystem", "BrumeHTTP", "BrumeService", "BrumeServer", "BrumeTestKit",
            ]),
        tests(
            "BrumeKitTests",
            [
                "BrumeLock", "BrumeRandom", "BrumeModel", "BrumeEncryption", "BrumeRecord", "BrumeProtocol",
                "BrumeStore", "BrumeSystem", "BrumeService", "BrumeServer", "BrumeKit", "BrumeAdmin", "CloudKit",
                "BrumeTestKit",
            ]),
        tests(
            "BrumeTestingTests",
            [
                "BrumeRandom", "BrumeTesting", "CloudKit", "BrumeKit", "BrumeSystem", "NotesKit", "SharedListKit",
                "brume", "notes-example", "shared-list-example",
            ]),
        tests("BrumeFuzzTests", ["BrumeFuzz"]),
        tests(
            "BrumeTestKitTests",
            ["BrumeLock", "BrumeTestKit", "BrumeService", "BrumeServer", "BrumeStore", "BrumeModel"]),
        tests(
            "BrumeCommandTests",
            [
                "BrumeLock", "BrumeRandom", "BrumeEncryption", "brume", "BrumeLoad", "BrumeKit", "BrumeAdmin",
                "BrumeServer", "BrumeStore",
                "BrumeSystem", "BrumeModel", "BrumeTestKit",
            ]),
    ],
    swiftLanguageModes: [.v6]
)

// BRUME_TESTS=BrumeStoreTests,BrumeServerTests builds the tests of these targets alone: what one works on is compiled
// sooner.
if let names = Context.environment["BRUME_TESTS"]?.split(separator: ",").map(String.init) {
    let unknown = names.filter { name in !package.targets.contains { $0.type == .test && $0.name == name } }
    guard unknown.isEmpty else {
        fatalError("BRUME_TESTS has \(unknown), which are no test targets: write names of Tests/ with commas between")
    }
    package.targets.removeAll { $0.type == .test && !names.contains($0.name) }
}

// The SDK's package for Debian has the sources of its products alone: what is not there is no target of it.
if !FileManager.default.fileExists(atPath: "\(Context.packageDirectory)/Sources/brume") {
    package.targets.removeAll { target in
        let path = target.path ?? (target.type == .test ? "Tests/" : "Sources/") + target.name
        return !FileManager.default.fileExists(atPath: "\(Context.packageDirectory)/\(path)")
    }
    let names = Set(package.targets.map(\.name))
    package.products.removeAll { !names.contains($0.name) }
}

// Built with libFuzzer by Scripts/fuzz.sh only: an ordinary build has nothing to link it with.
if Context.environment["BRUME_FUZZ"] != nil {
    package.targets.append(
        .executableTarget(name: "FuzzRunner", dependencies: ["BrumeFuzz"], path: "Fuzz/Runner", swiftSettings: settings)
    )
}
