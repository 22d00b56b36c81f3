internal import BrumeModel
internal import BrumeRecord
internal import Foundation

/// The keys of what an archived share has beside a record's.
private enum ArchiveKey {
    static let root = "RootRecordName"
    static let base = "ServerShare"
    static let currentUser = "ServerShareUserRecordName"
    static let publicPermission = "PublicPermission"
    static let allowsAccessRequests = "AllowsAccessRequests"
    static let participants = "Participants"
    static let requesters = "Requesters"
    static let blockedIdentities = "BlockedIdentities"
}

extension CKShareState {
    func encode(with coder: NSCoder) {
        coder.encode(root as NSString, forKey: ArchiveKey.root)
        if let base {
            coder.encode(Data(ShareViewCoder.encode(base.view)) as NSData, forKey: ArchiveKey.base)
            coder.encodeIfPresent(base.currentUser, forKey: ArchiveKey.currentUser)
        }
        coder.encode(Int64(publicPermission.rawValue), forKey: ArchiveKey.publicPermission)
        coder.encode(allowsAccessRequests, forKey: ArchiveKey.allowsAccessRequests)
        coder.encode(participants as NSArray, forKey: ArchiveKey.participants)
        coder.encode(requesters as NSArray, forKey: ArchiveKey.requesters)
        coder.encode(blockedIdentities as NSArray, forKey: ArchiveKey.blockedIdentities)
    }

    /// Nil when the archive holds no share. One of an earlier version has neither a root nor what a server showed.
    init?(coder: NSCoder) {
        let root = coder.stringIfPresent(forKey: ArchiveKey.root) ?? ""
        guard root.isEmpty || CKRecord.ID.problem(withName: root) == nil,
            let permission = coder.valueIfPresent(
                of: CKShare.ParticipantPermission.self, forKey: ArchiveKey.publicPermission),
            let participants = coder.listIfPresent(of: CKShareParticipant.self, forKey: ArchiveKey.participants),
            participants.first?.role == .owner
        else { return nil }
        var base: Base?
        if let data = coder.dataIfPresent(forKey: ArchiveKey.base) {
            let arena = MessageArena(bytesLimit: MessageArena.defaultBytesLimit)
            defer { withExtendedLifetime(arena) {} }
            guard let view = try? [UInt8](data).withUnsafeBytes({ try ShareViewCoder.decode($0, arena: arena) })
            else { return nil }
            let currentUser = coder.stringIfPresent(forKey: ArchiveKey.currentUser)
            base = Base(view, AnswerContext(currentUser: currentUser))
        }
        self.init(
            root: root, base: base, publicPermission: permission,
            allowsAccessRequests: coder.boolIfPresent(forKey: ArchiveKey.allowsAccessRequests) ?? false,
            participants: participants,
            requesters: coder.listIfPresent(of: CKShareAccessRequester.self, forKey: ArchiveKey.requesters) ?? [],
            blockedIdentities: coder.listIfPresent(
                of: CKShareBlockedIdentity.self, forKey: ArchiveKey.blockedIdentities) ?? [])
    }
}
