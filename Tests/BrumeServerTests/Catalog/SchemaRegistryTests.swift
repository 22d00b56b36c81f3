import BrumeModel
@testable import BrumeStore
import BrumeSystem
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("The schemas' files")
struct SchemaRegistryTests {
    private static let container = "iCloud.test"

    private static func lesson(_ field: String) -> SchemaLesson {
        var lesson = SchemaLesson()
        lesson.note(SchemaFieldType(.string), of: field, in: "Note")
        return lesson
    }

    private static func learn(_ field: String, _ registry: SchemaRegistry) throws(ServiceError) {
        _ = try registry.change(container) { (schemas) throws(ServiceError) in
            try schemas.development.learn(lesson(field), of: "_ada", share: .whole, isStrict: false)
        }
    }

    private static func knows(_ field: String, _ registry: SchemaRegistry) -> Bool {
        registry[container].development.schema.recordTypes["Note"]?.fields.contains { $0.name == field } == true
    }

    /// Found by the simulator's seed 40001372: a query was answered by a schema that the next power cut took away.
    @Test("what a start reads of a schema stays, also where the process before failed to sync its name")
    func nameIsSynced() throws {
        let disk = SimulatedDisk()
        var registry = try SchemaRegistry(disk: disk, log: .none)
        try Self.learn("first", registry)
        let calls = disk.calls
        try Self.learn("second", registry)
        // The last call of a change is the sync of the folder.
        disk.faults.failingCall = disk.calls + (disk.calls - calls) - 1
        #expect(throws: ServiceError.self) {
            try Self.learn("third", registry)
        }
        #expect(!Self.knows("third", registry))
        disk.endProcess()
        registry = try SchemaRegistry(disk: disk, log: .none)
        try #require(Self.knows("third", registry), "the name was not there: nothing was proven")
        disk.crash(seed: 1, .nothing)
        #expect(Self.knows("third", try SchemaRegistry(disk: disk, log: .none)))
    }

    @Test(
        "whichever write finds the disk full, a schema that no manifest names is kept and named, or as it was",
        arguments: [false, true])
    func unnamedSchema(hasFormer: Bool) throws {
        for call in 0... {
            let disk = SimulatedDisk()
            let manifest = FolderManifest(ManifestFile(files: [:]), on: disk, isChanged: true)
            try manifest.save()
            // As a process leaves it that ends before the manifest is written.
            if hasFormer { try Self.learn("former", try SchemaRegistry(disk: disk, log: .none)) }
            var registry = try SchemaRegistry(
                disk: disk, log: .none, manifest: manifest, failStop: { Issue.record("the server ends: \($0)") })
            disk.faults.fullCall = disk.calls + call
            let before = disk.calls
            func expectFormer() {
                #expect(Self.knows("former", registry) == hasFormer, "call \(call)")
            }
            let isLearned = (try? Self.learn("first", registry)) != nil
            #expect(Self.knows("first", registry) == isLearned, "call \(call)")
            expectFormer()
            let isPastLastCall = disk.calls - before <= call
            disk.endProcess()
            registry = try SchemaRegistry(disk: disk, log: .none)
            #expect(Self.knows("first", registry) == isLearned, "call \(call)")
            expectFormer()
            try manifest.save()
            #expect(try ManifestFile.read(from: disk)?.files.count == (isLearned ? 1 : 0), "call \(call)")
            if isPastLastCall { return }
        }
    }
}
