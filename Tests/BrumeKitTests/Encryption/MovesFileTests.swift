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

    private func move(_ parent: String, _ trees: UInt8...) -> Move {
        Move(parent: parent, formerTreeIDs: trees.map { [UInt8](repeating: $0, count: 16) })
    }

    private func done<Value>(_ attempt: KeyFolder.Attempt<Value>) throws -> Value {
        guard case .done(let value) = attempt else { throw Steps.Broken() }
        return value
    }

    @Test("says which records were put below which, and goes only as it was read")
    func moves() throws {
        #expect(!keys.hasMoves("Diary"))
        #expect(try done(keys.loadMoves("Diary")) == KeyFolder.NotedMoves())
        #expect(try done(keys.writeMoves(["a": move("b", 1, 2)], "Diary", over: nil)))
        let first = try done(keys.loadMoves("Diary"))
        #expect(first.moved == ["a": move("b", 1, 2)] && keys.hasMoves("Diary") && !keys.hasMoves("Notes"))
        #expect(try !done(keys.writeMoves(["c": move("d")], "Diary", over: nil)), "somebody was faster")
        let both = ["a": move("b", 3), "c": move("d")]
        #expect(try done(keys.writeMoves(both, "Diary", over: first.head)))
        let second = try done(keys.loadMoves("Diary"))
        #expect(second.moved == both)
        #expect(try done(keys.writeMoves(second.moved, "Diary", over: second.head)), "nothing is new")
        #expect(try !done(keys.removeMoves("Diary", over: first.head!)) && keys.hasMoves("Diary"))
        #expect(try done(keys.removeMoves("Diary", over: second.head!)) && !keys.hasMoves("Diary"))
    }

    @Test("holds no more records than it may, and none that is damaged or another zone's")
    func limits() throws {
        let many = Dictionary(
            uniqueKeysWithValues: (0...MovesFile.recordsMax).map { ("record\($0)", move("parent")) })
        let bytes = MovesFile.encode(many, zone: "Diary", place: place)
        let name = String(repeating: "n", count: 255)
        let most = Array(repeating: [UInt8](repeating: 1, count: 16), count: Move.formerTreesMax)
        let longest = MovesFile.encode(
            [name: Move(parent: name, formerTreeIDs: most)], zone: "Diary", place: place)
        let empty = MovesFile.encode([:], zone: "Diary", place: place).count
        #expect(empty + MovesFile.recordsMax * (longest.count - empty) <= MovesFile.bytesMax)
        #expect(try MovesFile.decode(bytes, zone: "Diary", place: place).count == MovesFile.recordsMax)
        #expect(throws: KeyFile.Refusal.damaged) { try MovesFile.decode(bytes, zone: "Notes", place: place) }
        let few = MovesFile.encode(["a": move("b", 1)], zone: "Diary", place: place)
        for index in few.indices {
            var flipped = few
            flipped[index] ^= 1
            #expect(throws: KeyFile.Refusal.self) { try MovesFile.decode(flipped, zone: "Diary", place: place) }
            let cut = Array(few.prefix(index))
            #expect(throws: KeyFile.Refusal.self) { try MovesFile.decode(cut, zone: "Diary", place: place) }
        }
    }

    @Test("keeps of a record that moves again the trees that it left before, the last ones")
    func again() {
        let second = move("c", 2).following(move("b", 1))
        #expect(second == move("c", 1, 2) && move("d", 1).following(second) == move("d", 2, 1))
        let all = (1...9).reduce(move("x", 0)) { move("x", UInt8($1)).following($0) }
        #expect(all == move("x", 2, 3, 4, 5, 6, 7, 8, 9))
    }
}
