import Testing

@testable import BrumeKit

/// What is encrypted below records that move into another tree.
extension EncryptedSharesTests {
    /// A record below one that can move, in the shared tree.
    func card(in diary: Diary, on device: CKContainer) async throws -> (list: CKRecord, card: CKRecord) {
        let zone = CKRecordZone(zoneID: diary.root.recordID.zoneID)
        let (list, card) = (page("list", in: zone, name: "list"), page("card", in: zone, name: "card"))
        list.setParent(diary.root)
        card.setParent(list)
        _ = try await device.privateCloudDatabase.modifyRecords(saving: [list, card], deleting: [])
        return (list, card)
    }

    @Test("are read below what has left a share on a device of the owner's that never saw the share")
    func leftTree() async throws {
        let (ada, bob) = (device(0), device(1))
        let diary = try await diary(ada, bob)
        let (list, card) = try await card(in: diary, on: ada)
        try await move(list, below: diary.diary, on: ada)
        let laptop = device(0)
        try await laptop.useRecoveryCode(try await ada.recoveryCode().text)
        #expect(try await text(card.recordID, on: laptop, isOwner: true) == "card")
        #expect(laptop.core.account.encryptedZones.knownRoots(card.recordID.zoneID.ringID) == ["root"])
    }
}
