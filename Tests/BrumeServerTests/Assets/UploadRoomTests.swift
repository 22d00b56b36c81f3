import BrumeModel
import Testing

@testable import BrumeService
@testable import BrumeStore

@Suite("The room of uploads that no record names")
struct UploadRoomTests {
    private var room = UploadRoom()
    private var blobs = BlobIndex(grace: 1_000)

    private static func name(_ number: Int) -> BlobName {
        BlobName(
            checksum: AssetChecksum([UInt8](repeating: UInt8(number & 255), count: AssetChecksum.byteCount))!,
            generation: UInt64(number))
    }

    private mutating func store(_ number: Int) {
        room.reserve(10, of: "ada")
        blobs.add(Self.name(number), byteCount: 10, promisedUntil: 1_000, now: 0)
        room.stored(Self.name(number), 10, by: "ada")
        room.release(10, of: "ada")
    }

    private mutating func hasRoom(for byteCount: UInt64, of user: String = "ada") -> Bool {
        room.hasRoom(for: byteCount, of: user, limit: 100, in: blobs)
    }

    @Test("is taken by those under way and those stored, of their user alone")
    mutating func users() {
        #expect(hasRoom(for: 100) && !hasRoom(for: 101))
        for number in 0..<5 { store(number) }
        // The same one again, when a client that missed the answer comes back.
        store(4)
        room.reserve(20, of: "ada")
        #expect(hasRoom(for: 30) && !hasRoom(for: 31))
        #expect(hasRoom(for: 100, of: "bob"))
        room.release(20, of: "ada")
        #expect(hasRoom(for: 50) && !hasRoom(for: 51))
    }

    @Test("is given back when a record names the asset")
    mutating func naming() {
        for number in 0..<10 { store(number) }
        #expect(!hasRoom(for: 1))
        blobs.reference(Self.name(3), byteCount: 10)
        #expect(hasRoom(for: 10) && !hasRoom(for: 11))
        for number in 0..<10 where number != 3 { blobs.reference(Self.name(number), byteCount: 10) }
        #expect(hasRoom(for: 100) && room.storedCount(of: "ada") == 0)
    }

    @Test("does not remember all that a user ever stored, though there is room for more")
    mutating func memory() {
        for number in 0..<10_000 {
            #expect(hasRoom(for: 10))
            store(number)
            blobs.reference(Self.name(number), byteCount: 10)
        }
        #expect(room.storedCount(of: "ada") <= 64)
    }
}
