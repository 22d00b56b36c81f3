import BrumeModel
import BrumeStore
import Testing

@testable import BrumeServer

@Suite("Uploads that were left")
struct KeptUploadsTests {
    private static func upload(_ number: Int, of user: String = "ada") -> BlobUpload.Identity {
        let id = [UInt8](repeating: 0, count: UploadID.byteCount - 1) + [UInt8(number)]
        return BlobUpload.Identity(id: UploadID(id)!, user: user, zone: "notes", byteCount: 1 << 40)
    }

    @Test("are as many of a user as there may be, and those that were left first go")
    func count() {
        var kept = KeptUploads()
        for number in 0..<KeptUploads.perUser { #expect(kept.add(Self.upload(number), byteCount: 1, now: 0) == []) }
        #expect(kept.add(Self.upload(0), byteCount: 1, now: 0) == [])
        #expect(kept.add(Self.upload(100), byteCount: 1, now: 0) == [Self.upload(1)])
        kept.remove(Self.upload(2))
        #expect(kept.add(Self.upload(101), byteCount: 1, now: 0) == [])
        #expect(kept.add(Self.upload(100, of: "bob"), byteCount: 1, now: 0) == [])
    }

    @Test("go after those that have become blobs, where they are too many")
    func complete() {
        var kept = KeptUploads()
        for number in 0..<KeptUploads.perUser - 2 { #expect(kept.add(Self.upload(number), byteCount: 1, now: 0) == []) }
        for number in 100..<102 { #expect(kept.add(Self.upload(number), byteCount: 0, now: 0) == []) }
        #expect(kept.add(Self.upload(102), byteCount: 0, now: 0) == [Self.upload(100)])
        #expect(kept.add(Self.upload(200), byteCount: 1, now: 0) == [Self.upload(101)])
        #expect(kept.add(Self.upload(201), byteCount: 1, now: 0) == [Self.upload(102)])
        #expect(kept.add(Self.upload(103), byteCount: 0, now: 0) == [Self.upload(103)], "rather than one to go on with")
        #expect(kept.add(Self.upload(202), byteCount: 1, now: 0) == [Self.upload(0)])
    }

    @Test("go when nobody has gone on with them for long, those that were left first before all others")
    func age() {
        var kept = KeptUploads()
        func take(_ limit: Int, _ time: UInt32) -> [BlobUpload.Identity] {
            kept.take(limit, leftUpTo: time).map(\.upload)
        }
        for number in 0..<4 {
            _ = kept.add(Self.upload(number, of: number % 2 == 0 ? "ada" : "bob"), byteCount: 1, now: UInt32(number))
        }
        #expect(kept.add(Self.upload(0), byteCount: 5, now: 10) == [], "it was gone on with, and left again")
        #expect(take(9, 0) == [])
        #expect(take(1, 2) == [Self.upload(1, of: "bob")])
        kept.remove(Self.upload(3, of: "bob"))
        #expect(take(9, 9) == [Self.upload(2)] && !kept.isEmpty)
        let last = kept.take(9, leftUpTo: 10)
        #expect(last.map(\.upload) == [Self.upload(0)] && last.map(\.byteCount) == [5] && kept.isEmpty)
        #expect(take(9, .max) == [])
    }

    @Test("cost no memory for each time that one was left")
    func leavings() {
        var kept = KeptUploads()
        for time in 0..<100_000 { _ = kept.add(Self.upload(time % 3), byteCount: 1, now: UInt32(time)) }
        #expect(kept.leavingCount < 200)
        let former = kept.take(9, leftUpTo: 99_998).map(\.upload)
        #expect(former == [Self.upload(99_997 % 3), Self.upload(99_998 % 3)])
        #expect(kept.take(9, leftUpTo: 99_999).map(\.upload) == [Self.upload(0)])
    }

    @Test("hold a user's part of the disk together, and the one that was left last stays though it is larger")
    func bytes() {
        var kept = KeptUploads()
        let half = KeptUploads.bytesPerUser / 2
        for number in 0..<2 { #expect(kept.add(Self.upload(number), byteCount: half, now: 0) == []) }
        #expect(kept.add(Self.upload(2), byteCount: 0, now: 0) == [])
        #expect(kept.add(Self.upload(3), byteCount: 1, now: 0) == [Self.upload(0)])
        #expect(kept.add(Self.upload(4), byteCount: 3 * half, now: 0) == [1, 3].map { Self.upload($0) })
        #expect(kept.add(Self.upload(5), byteCount: 0, now: 0) == [], "a long film goes on after a photo has ended")
        #expect(kept.add(Self.upload(6), byteCount: 1, now: 0) == [Self.upload(4)])
    }
}
