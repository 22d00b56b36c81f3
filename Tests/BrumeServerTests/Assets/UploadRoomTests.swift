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

    private static func id(_ number: Int) -> UploadID {
        UploadID((0..<UploadID.byteCount).map { UInt8(truncatingIfNeeded: number >> ($0 * 8 % 64)) })!
    }

    private mutating func store(_ number: Int, as id: Int? = nil) {
        let id = Self.id(id ?? number)
        room.reserve(10, for: id, of: "ada")
        blobs.add(Self.name(number), byteCount: 10, promisedUntil: 1_000, now: 0)
        room.stored(Self.name(number), 10, as: id, by: "ada")
        room.release(10, for: id, of: "ada")
    }

    private mutating func hasRoom(for byteCount: UInt64, of user: String = "ada", limit: UInt64 = 100) -> Bool {
        room.hasRoom(for: byteCount, of: user, limit: limit, in: blobs)
    }

    @Test("is taken by those under way and those stored, of their user alone")
    mutating func users() {
        #expect(hasRoom(for: 100) && !hasRoom(for: 101))
        for number in 0..<5 { store(number) }
        // The same one again, when a client that missed the answer comes back.
        store(4)
        room.reserve(20, for: Self.id(9), of: "ada")
        #expect(hasRoom(for: 30) && !hasRoom(for: 31))
        #expect(room.reservedByteCount == 20)
        #expect(hasRoom(for: 100, of: "bob"))
        room.release(20, for: Self.id(9), of: "ada")
        #expect(hasRoom(for: 50) && !hasRoom(for: 51))
        #expect(room.reservedByteCount == 0)
    }

    @Test("is for so many uploads, however small they are, and for more of them where there is more room")
    mutating func counts() {
        for number in 0..<1_024 {
            #expect(hasRoom(for: 0))
            room.reserve(0, for: Self.id(number), of: "ada")
        }
        #expect(!hasRoom(for: 0))
        #expect(hasRoom(for: 0, of: "bob"))
        #expect(hasRoom(for: 0, limit: 65_536 * 1_025))
        room.release(0, for: Self.id(7), of: "ada")
        #expect(hasRoom(for: 0))
    }

    @Test("is known by the id of an upload, while it is under way and until a record names what it became")
    mutating func ids() {
        func holds(_ id: Int, of user: String = "ada") -> Bool { room.holds(Self.id(id), of: user, in: blobs) }
        room.reserve(10, for: Self.id(1), of: "ada")
        room.reserve(10, for: Self.id(1), of: "ada")
        #expect(holds(1) && !holds(2) && !holds(1, of: "bob"))
        room.release(10, for: Self.id(1), of: "ada")
        #expect(holds(1))
        room.release(10, for: Self.id(1), of: "ada")
        #expect(!holds(1))
        store(5, as: 2)
        #expect(holds(2))
        // The same content again: the last id is enough, or one blob could have any number of them.
        store(5, as: 3)
        #expect(holds(3) && !holds(2))
        blobs.reference(Self.name(5), byteCount: 10)
        #expect(!holds(3))
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
