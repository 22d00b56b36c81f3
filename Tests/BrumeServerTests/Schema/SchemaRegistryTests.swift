import BrumeModel
import BrumeStore
import BrumeTestKit
import Testing

@testable import BrumeServer

@Suite("The schemas' files")
struct SchemaRegistryTests {
    private static let container = "iCloud.test"

    private static func lesson(_ field: String) -> SchemaLesson {
        var lesson = SchemaLesson()
        lesson.note(SchemaFieldType(.string), of: field, in: "Note")
        return lesson
    }

    private static func knows(_ field: String, _ registry: SchemaRegistry) -> Bool {
        registry[container].development.schema.recordTypes["Note"]?.fields.contains { $0.name == field } == true
    }

    /// Found by the simulator's seed 40001372: a query was answered by a schema that the next power cut took away.
    @Test("what a start reads of a schema stays, also where the process before failed to sync its name")
    func nameIsSynced() throws {
        let disk = SimulatedDisk()
        var registry = try SchemaRegistry(disk: disk, log: .none)
        _ = try registry.learn(
            Self.lesson("first"), of: "_ada", container: Self.container, share: .whole, isStrict: false)
        let calls = disk.calls
        _ = try registry.learn(
            Self.lesson("second"), of: "_ada", container: Self.container, share: .whole, isStrict: false)
        // The last call of a change is the sync of the folder.
        disk.faults.failingCall = disk.calls + (disk.calls - calls) - 1
        #expect(throws: ServiceError.self) {
            try registry.learn(
                Self.lesson("third"), of: "_ada", container: Self.container, share: .whole, isStrict: false)
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
