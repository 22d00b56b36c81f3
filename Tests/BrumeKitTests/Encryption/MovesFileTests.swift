import BrumeEncryption
import BrumeTestKit
import Testing

@testable import BrumeKit

@Suite("The file of what moved in a zone")
struct MovesFileTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private var place: KeyPlace {
        KeyPlace(
            server: "a:1", scope: IdentityScope(account: "_ada", container: "iCloud.test", environment: "development"))
    }

    private var keys: KeyFolder { KeyFolder(stateFolder: folder.path, place: place) }

    private func done<Value>(_ attempt: KeyFolder.Attempt<Value>) throws -> Value {
        guard case .done(let value) = attempt else { throw Steps.Broken() }
        return value
    }

    @Test("says which records were put below which, and goes only as it was read")
    func moves() throws {
        #expect(!keys.hasMoves("Diary"))
        #expect(try done(keys.loadMoves("Diary")) == KeyFolder.NotedMoves())
        #expect(try done(keys.writeMoves(["a": "b"], "Diary", over: nil)))
        let first = try done(keys.loadMoves("Diary"))
        #expect(first.moved == ["a": "b"] && keys.hasMoves("Diary") && !keys.hasMoves("Notes"))
        #expect(try !done(keys.writeMoves(["c": "d"], "Diary", over: nil)), "somebody was faster")
        #expect(try done(keys.writeMoves(["a": "b", "c": "d"], "Diary", over: first.head)))
        let second = try done(keys.loadMoves("Diary"))
        #expect(second.moved == ["a": "b", "c": "d"])
        #expect(try done(keys.writeMoves(second.moved, "Diary", over: second.head)), "nothing is new")
        #expect(try !done(keys.removeMoves("Diary", over: first.head!)) && keys.hasMoves("Diary"))
        #expect(try done(keys.removeMoves("Diary", over: second.head!)) && !keys.hasMoves("Diary"))
    }

    @Test("holds no more records than it may, and none that is damaged or another zone's")
    func limits() throws {
        let many = Dictionary(uniqueKeysWithValues: (0...MovesFile.recordsMax).map { ("record\($0)", "parent") })
        let bytes = MovesFile.encode(many, zone: "Diary", place: place)
        let name = String(repeating: "n", count: 255)
        let longest = MovesFile.encode([name: name], zone: "Diary", place: place)
        #expect(longest.count - 2 * 259 + MovesFile.recordsMax * 2 * 259 <= MovesFile.bytesMax)
        #expect(try MovesFile.decode(bytes, zone: "Diary", place: place).count == MovesFile.recordsMax)
        #expect(throws: KeyFile.Refusal.damaged) { try MovesFile.decode(bytes, zone: "Notes", place: place) }
        let few = MovesFile.encode(["a": "b"], zone: "Diary", place: place)
        for index in few.indices {
            var flipped = few
            flipped[index] ^= 1
            #expect(throws: KeyFile.Refusal.self) { try MovesFile.decode(flipped, zone: "Diary", place: place) }
            let cut = Array(few.prefix(index))
            #expect(throws: KeyFile.Refusal.self) { try MovesFile.decode(cut, zone: "Diary", place: place) }
        }
    }
}
