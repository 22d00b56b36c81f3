@testable import BrumeKit
import BrumeModel
import BrumeRecord
import BrumeTestKit
import Foundation
import Testing

@Suite("What a server says of a share's URL")
struct ShareMetadataTests {
    private let guest = RandomShare.user(1)

    private func answer(
        _ participants: [ShareView.Participant] = [], root: String = "list", user: String, role: ShareView.Role,
        isAccepted: Bool = false, publicPermission: Share.Permission = .none
    ) -> ShareMetadata<Record> {
        let view = ShareSamples.view(participants, publicPermission: publicPermission)
        return ShareMetadata(
            container: "iCloud.lists", environment: .development,
            zone: ZoneID(name: "Lists", owner: ShareSamples.owner),
            share: ShareSamples.record(view, title: "Groceries"), root: root, role: role, permission: .readWrite,
            isAccepted: isAccepted, user: user)
    }

    private func make(_ answer: ShareMetadata<Record>) throws -> CKShare.Metadata {
        try CKShareMetadata.make(answer, origin: "https://example.com:7440")
    }

    @Test("is read for the user whom the answer names, as that of the share's container")
    func invited() throws {
        var participant = ShareSamples.invited("p", email: "guest@example.com", permission: .readWrite)
        participant.user = guest
        let metadata = try make(answer([participant], user: guest, role: .privateUser))
        #expect(metadata.containerIdentifier == "iCloud.lists")
        let zoneID = CKRecordZone.ID(zoneName: "Lists", ownerName: ShareSamples.owner)
        #expect(metadata.hierarchicalRootRecordID == CKRecord.ID(recordName: "list", zoneID: zoneID))
        #expect(metadata.share.recordID == CKRecord.ID(recordName: "share", zoneID: zoneID))
        #expect(metadata.share.url?.absoluteString == "https://example.com:7440/share/token#Groceries")
        #expect(metadata.rootRecord == nil)
        #expect(
            (metadata.participantRole, metadata.participantStatus, metadata.participantPermission)
                == (.privateUser, .pending, .readWrite))
        #expect(metadata.ownerIdentity.userRecordID?.recordName == ShareSamples.owner)
        let me = try #require(metadata.share.currentUserParticipant)
        #expect(me.participantID == "p" && me.userIdentity.lookupInfo?.emailAddress == "guest@example.com")
        #expect(me.userIdentity.userRecordID?.recordName == CKCurrentUserDefaultName)
        let read = try archived(metadata, as: CKShareMetadata.self)
        #expect(read.share.currentUserParticipant == me && read.share.url == metadata.share.url)
    }

    @Test("has no participant for a user who may come and has not")
    func welcome() throws {
        let metadata = try make(answer(user: guest, role: .publicUser, publicPermission: .readWrite))
        #expect(metadata.participantRole == .publicUser && metadata.participantStatus == .pending)
        #expect(metadata.share.currentUserParticipant == nil && metadata.share.participants.count == 1)
    }

    @Test("has the owner's own zone and participant for the owner, and no root for the share of a whole zone")
    func owner() throws {
        let metadata = try make(answer(root: "", user: ShareSamples.owner, role: .owner, isAccepted: true))
        #expect(metadata.share.recordID.zoneID == CKRecordZone.ID(zoneName: "Lists"))
        #expect(metadata.hierarchicalRootRecordID == nil && metadata.participantStatus == .accepted)
        #expect(metadata.share.currentUserParticipant === metadata.share.owner)
        #expect(metadata.ownerIdentity.userRecordID?.recordName == CKCurrentUserDefaultName)
    }

    @Test("has the shared record where that was sent")
    func root() throws {
        var answer = answer(user: guest, role: .publicUser)
        answer.rootRecord = Record(
            system: SystemFields(name: "list", type: "List", changeTag: "7", creator: guest, modifier: guest),
            fields: ["title": .string("Milk")], share: "share")
        let metadata = try make(answer)
        let root = try #require(metadata.rootRecord)
        #expect(root.recordID == metadata.hierarchicalRootRecordID && root["title"] == "Milk")
        #expect(root.share?.recordID == metadata.share.recordID)
        #expect(root.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
    }

    @Test(
        "is refused where it names what can't be",
        arguments: [
            { $0.user = "guest" }, { $0.zone.owner = "" }, { $0.zone.name = "_mine" }, { $0.container = "" },
            { $0.root = String(repeating: "x", count: 256) }, { $0.share.shareDetails?.participants = [] },
            { $0.share.system.type = "List" },
            { $0.rootRecord = Record(system: SystemFields(name: "other", type: "List"), fields: [:]) },
        ] as [@Sendable (inout ShareMetadata<Record>) -> Void])
    func malformed(_ spoil: @Sendable (inout ShareMetadata<Record>) -> Void) {
        var answer = answer(user: guest, role: .publicUser)
        #expect(throws: Never.self) { try make(answer) }
        spoil(&answer)
        #expect(performing: { try make(answer) }, throws: { CKError.internalError ~= $0 })
    }
}
