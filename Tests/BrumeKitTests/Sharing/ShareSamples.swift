@testable import BrumeKit
import BrumeEncryption
import BrumeModel
import BrumeRecord
import BrumeTestKit
import Foundation
import Testing

/// Shares as a server sends them to their owner.
enum ShareSamples {
    static let zone = CKRecordZone.ID(zoneName: "Lists")
    static let owner = RandomShare.owner
    static let context = AnswerContext(currentUser: owner, origin: "https://example.com:7440")

    static func view(
        _ participants: [ShareView.Participant] = [], url: String = "/share/token",
        publicPermission: Share.Permission = .none, requesters: [Int] = [], blocked: [Int] = []
    ) -> ShareView {
        ShareView(
            url: url, publicPermission: publicPermission, participants: [.owner(owner)] + participants,
            requesters: requesters.map { ShareRequester(user: RandomShare.user($0), requestedMilliseconds: 5) },
            blockedUsers: blocked.map { RandomShare.user($0) })
    }

    /// What the server shows its owner of a share that it has.
    static func view(of share: Share) -> ShareView {
        share.view(for: .manager, owner: owner) { secret, oneTimeSecret in
            "/share/\((oneTimeSecret ?? secret).map { String($0, radix: 16) }.joined())"
        }
    }

    static func invited(
        _ id: String, email: String, permission: Share.Permission = .readOnly
    ) -> ShareView.Participant {
        ShareView.Participant(
            id: id, role: .privateUser, permission: permission, isAccepted: false, handle: .email(email),
            addedMilliseconds: 2_000)
    }

    static func accepted(
        _ id: String, user: Int, role: ShareView.Role = .privateUser, permission: Share.Permission = .readOnly
    ) -> ShareView.Participant {
        ShareView.Participant(
            id: id, role: role, permission: permission, isAccepted: true, user: RandomShare.user(user),
            addedMilliseconds: 2_000)
    }

    static func record(_ view: ShareView?, tag: String = "1", title: String? = nil) -> Record {
        Record(
            system: SystemFields(
                name: "share", type: Names.shareType, changeTag: tag, creator: owner, modifier: owner),
            fields: title.map { ["cloudkit.title": .string($0)] } ?? [:], shareDetails: view)
    }

    static func share(
        _ view: ShareView?, tag: String = "1", title: String? = nil, context: AnswerContext = context
    ) throws -> CKShare {
        let record = CKRecord.make(record(view, tag: tag, title: title), zoneID: zone, context: context)
        return try #require(record as? CKShare)
    }

    /// A share as it stands in answers.
    static func stored(_ view: ShareView, tag: String = "1", title: String? = nil) -> SharedBytes {
        let record = record(view, tag: tag)
        let fields = title.map { [StoredRecord.encodeField(key: "cloudkit.title", value: .string($0))] } ?? []
        return StoredRecord.shown(
            SharedBytes(StoredRecord.encode(record.system, fields: fields)), details: ShareViewCoder.encode(view))
    }

    /// Keys in a share's URL.
    static func link(_ title: String? = nil) -> LinkFragment {
        LinkFragment(ownersFirstStatement: [UInt8](repeating: 0xa7, count: 32), secret: LinkSecret(), title: title)
    }

    static func participant(email: String) -> CKShare.Participant {
        CKShare.Participant(lookupInfo: CKUserIdentity.LookupInfo(emailAddress: email))
    }
}

extension CKShare {
    /// What a save of the share would say of it now.
    func edit() throws -> ShareEdit { try details.current.edit() }

    /// What the answer to a save does.
    func saved(as view: ShareView, tag: String = "2", of outgoing: OutgoingRecord) {
        applySaved(
            ShareSamples.record(view, tag: tag), fieldsOmitted: true, of: outgoing, context: ShareSamples.context)
    }

    func participant(_ id: String) -> CKShare.Participant? { participants.first { $0.participantID == id } }
}

/// The object as an archive gives it back.
func archived<Object: NSObject & NSSecureCoding>(_ object: Object, as type: Object.Type) throws -> Object {
    let data = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
    return try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: type, from: data))
}

/// The share as the archive of its system fields gives it back.
func archivedSystemFields(_ record: CKRecord) throws -> NSKeyedUnarchiver {
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    record.encodeSystemFields(with: archiver)
    archiver.finishEncoding()
    return try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
}
