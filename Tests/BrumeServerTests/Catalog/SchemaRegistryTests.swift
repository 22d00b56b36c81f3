import BrumeSystem
import BrumeModel
import BrumeStore
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
        let isKnown = Self.knows("third", registry)
        #expect(isKnown, "the name was not there: nothing was proven")
        disk.crash(seed: 1, .nothing)
        #expect(Self.knows("third", try SchemaRegistry(disk: disk, log: .none)) == isKnown)
    }
}
