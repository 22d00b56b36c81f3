import BrumeModel
@testable import BrumeStore
import BrumeTestKit
import Testing

@testable import BrumeService

@Suite("What nothing needs of databases that left the memory")
struct DepartedAssetsTests {
    private static func id(_ owner: String) -> DatabaseID {
        DatabaseID(container: "iCloud.test", environment: .development, scope: .private, owner: owner)
    }

    private static func index(_ times: [UInt32], grace: UInt32 = 100) -> BlobIndex {
        var index = BlobIndex(grace: grace)
        for (number, time) in times.enumerated() {
            let checksum = AssetChecksum([UInt8](repeating: UInt8(number), count: 32))!
            index.found(BlobName(checksum: checksum, generation: 1), byteCount: 1, now: time)
        }
        return index
    }

    private static func due(_ departed: inout DepartedAssets, at time: UInt32) -> [String] {
        var due: [String] = []
        while let (id, isLookedThrough) = departed.takeDue(at: time) {
            due.append(id.owner + (isLookedThrough ? " looked through" : ""))
        }
        return due
    }

    @Test(
        "is due when some of it may go, what goes at about the same time together, and remembered until it comes back")
    func due() throws {
        var departed = DepartedAssets(limit: 100)
        departed.leave(Self.id("ada"), Self.index([50, 20, 70]))
        departed.leave(Self.id("bob"), Self.index([10]))
        departed.leave(Self.id("carol"), Self.index([20, 22]))
        departed.leave(Self.id("dora"), Self.index([]))
        #expect(departed.blobCount == 6 && Self.due(&departed, at: 109) == [])
        #expect(Self.due(&departed, at: 110) == ["bob"])
        #expect(Self.due(&departed, at: 110) == [], "once")
        departed.putOff(Self.id("bob"), until: 130)
        departed.putOff(Self.id("eve"), until: 130)
        #expect(Self.due(&departed, at: 121) == [])
        #expect(Self.due(&departed, at: 124) == ["carol", "ada"])
        #expect(Self.due(&departed, at: 130) == ["bob"])
        guard case .each(let blobs)? = departed.comeBack(Self.id("ada")) else { throw TestFailure("no names") }
        #expect(blobs.map(\.since).sorted() == [20, 50, 70])
        #expect(departed.comeBack(Self.id("ada")) == nil && departed.comeBack(Self.id("dora")) == nil)
        #expect(departed.blobCount == 3)
        departed.leave(Self.id("ada"), Self.index([90]))
        #expect(Self.due(&departed, at: 189) == [])
        #expect(Self.due(&departed, at: 190) == ["ada"])
    }

    @Test("is a sum where there is no room for names, and all of it goes when the last of it may")
    func room() throws {
        var departed = DepartedAssets(limit: 5, databaseLimit: 3)
        departed.leave(Self.id("ada"), Self.index([1, 2, 3]))
        departed.leave(Self.id("bob"), Self.index([1, 9, 3]))
        departed.leave(Self.id("carol"), Self.index([1]))
        departed.leave(Self.id("dora"), Self.index([1]))
        #expect(departed.blobCount == 4, "these are as many databases as there may be")
        #expect(Self.due(&departed, at: 108) == ["carol", "ada"])
        #expect(Self.due(&departed, at: 109) == ["bob looked through"])
        guard case .sum(let sum)? = departed.comeBack(Self.id("bob")) else { throw TestFailure("no sum") }
        #expect(sum == UnneededSum(byteCount: 3, since: 9, promisedUntil: 0))
        // Before its files have been found it leaves again, with another one.
        var index = Self.index([20])
        index.forgot(sum)
        #expect(departed.comeBack(Self.id("ada")) != nil && departed.blobCount == 1)
        departed.leave(Self.id("bob"), index)
        #expect(departed.blobCount == 1, "the names that are known are of no use without the others")
        #expect(departed.comeBack(Self.id("bob")) == .sum(UnneededSum(byteCount: 4, since: 20, promisedUntil: 0)))
    }

    @Test("costs no memory for each time that a database left")
    func comingAndGoing() {
        var departed = DepartedAssets(limit: 100)
        for _ in 0..<10_000 {
            departed.leave(Self.id("ada"), Self.index([1]))
            #expect(departed.comeBack(Self.id("ada")) != nil)
        }
        #expect(departed.visitCount <= 67 && departed.blobCount == 0)
    }
}
