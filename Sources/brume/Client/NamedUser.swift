internal import BrumeKit
internal import BrumeModel
internal import Foundation

/// A user as the command line names one.
struct NamedUser {
    /// What was typed.
    let text: String
    let container: CKContainer
    /// What the user is looked up by; nil for whoever comes first.
    let lookupInfo: CKUserIdentity.LookupInfo?

    /// Whether it is the URL of an invitation for whoever comes first.
    var isURL: Bool { text.hasPrefix("https://") }

    init(_ text: String, container: CKContainer) throws(CommandError) {
        self.text = text
        self.container = container
        if text == "anybody" || text.hasPrefix("https://") {
            lookupInfo = nil
        } else if Names.isUserRecordName(text) {
            lookupInfo = CKUserIdentity.LookupInfo(userRecordID: CKRecord.ID(recordName: text))
        } else if Handle(email: text) != nil {
            lookupInfo = CKUserIdentity.LookupInfo(emailAddress: text)
        } else if Handle(phone: text) != nil {
            lookupInfo = CKUserIdentity.LookupInfo(phoneNumber: text)
        } else {
            throw CommandError(
                .usage,
                "\(text) is no user: name an e-mail address, a phone number with its country's code (+49…), a user record "
                    + "name, the word anybody, or the URL of an invitation for anybody")
        }
    }
}

extension CKShare {
    /// The participant that a user is, or was invited as. Whoever comes first may be several: those for whom an
    /// invitation with a URL of its own waits.
    func participants(_ user: NamedUser) -> [CKShare.Participant] {
        guard let info = user.lookupInfo else {
            return participants.filter { participant in
                guard let url = oneTimeURL(for: participant.participantID) else { return false }
                return !user.isURL || Self.address(url.absoluteString) == Self.address(user.text)
            }
        }
        return participants.filter { participant in
            let identity = participant.userIdentity
            guard participant.role != .owner else { return false }
            if let id = info.userRecordID { return identity.userRecordID?.recordName == id.recordName }
            guard let known = identity.lookupInfo else { return false }
            return known.emailAddress.flatMap { Handle(email: $0) } == Handle(email: info.emailAddress ?? "")
                && known.phoneNumber.flatMap { Handle(phone: $0) } == Handle(phone: info.phoneNumber ?? "")
        }
    }

    /// The user's request for access. Who asks is known by user record name alone.
    func requesters(_ user: NamedUser) -> [CKShare.AccessRequester] {
        requesters.filter { $0.userIdentity.userRecordID?.recordName == user.text }
    }

    /// The user, if they are blocked.
    func blockedIdentities(_ user: NamedUser) -> [CKShare.BlockedIdentity] {
        blockedIdentities.filter { $0.userIdentity.userRecordID?.recordName == user.text }
    }

    /// A URL without the share's title, which is for people.
    private static func address(_ url: String) -> Substring { url.prefix { $0 != "#" } }
}

/// The shares of a zone, with the names of the records that they share.
struct SharesOfZone {
    /// By the name of what is shared; that of the whole zone has no root.
    let shares: [(share: CKShare, root: String?)]

    init(of zoneID: CKRecordZone.ID, in database: CKDatabase) async throws {
        var shares: [CKShare] = []
        var roots: [String: String] = [:]
        var token: CKServerChangeToken?
        var isMoreComing = true
        while isMoreComing {
            // System fields alone: they say what is shared.
            let page = try await database.recordZoneChanges(
                inZoneWith: zoneID, since: token, desiredKeys: [CKShare.SystemFieldKey.title])
            for result in page.modificationResultsByID.values {
                let record = try result.get().record
                if let share = record as? CKShare { shares.append(share) }
                if let share = record.share { roots[share.recordID.recordName] = record.recordID.recordName }
            }
            (token, isMoreComing) = (page.changeToken, page.moreComing)
        }
        self.shares = shares.map { ($0, roots[$0.recordID.recordName]) }.sorted { ($0.root ?? "") < ($1.root ?? "") }
    }
}
