internal import BrumeModel

/// A share on its way to the server.
package struct OutgoingShare: Sendable {
    /// What the share held when the save began.
    let sent: CKShareState
    /// What the save says of it, or why it can't be saved.
    let save: Result<ShareSave, CKError>

    init(sent: CKShareState) {
        self.sent = sent
        do throws(CKError) {
            let edit = try sent.edit()
            try sent.checkRight(to: edit)
            save = .success(ShareSave(root: sent.root, edit: edit))
        } catch {
            save = .failure(error)
        }
    }
}

extension CKShareState {
    /// Whether the app has changed something since the server showed the share.
    var isEdited: Bool {
        do throws(CKError) { return try edit() != ShareEdit() } catch { return true }
    }

    /// What the app has changed since the server showed the share.
    ///
    /// - Throws: `invalidArguments` for what no server could take.
    func edit() throws(CKError) -> ShareEdit {
        let (before, now) = (baseContents, contents)
        var edit = ShareEdit()
        if now.publicPermission != before.publicPermission {
            guard let permission = now.publicPermission.modelPermission else {
                throw Self.refusal("its publicPermission is unknown; set it to none, readOnly or readWrite")
            }
            edit.publicPermission = permission
        }
        if now.allowsAccessRequests != before.allowsAccessRequests {
            edit.allowsAccessRequests = now.allowsAccessRequests
        }
        for participant in participants.dropFirst() {
            let id = participant.participantID
            if let known = before.participants[id], known == now.participants[id] { continue }
            edit.puts.append(try Self.put(participant, isNew: before.participants[id] == nil))
        }
        edit.removals = before.participants.keys.filter { now.participants[$0] == nil }.sorted()
        edit.blocks = now.blockedUsers.subtracting(before.blockedUsers).sorted()
        edit.unblocks = before.blockedUsers.subtracting(now.blockedUsers).sorted()
        edit.denials = before.requesters.subtracting(now.requesters).subtracting(edit.blocks).sorted()
        return edit
    }

    /// Whoever does not manage the share can remove themselves and change nothing else. The server says the same, and
    /// refuses with it what is saved beside.
    ///
    /// - Throws: `permissionFailure`.
    fileprivate func checkRight(to edit: ShareEdit) throws(CKError) {
        // Without a current user nothing is known of who they are in the share.
        guard let base, let user = base.currentUser, edit != ShareEdit() else { return }
        let participant = base.view.participants.first { $0.user == user }
        if participant?.role == .owner || participant?.role == .administrator { return }
        var leaving = ShareEdit()
        leaving.removals = participant.map { [$0.id] } ?? []
        guard edit == leaving else {
            throw CKError(
                .permissionFailure,
                message:
                    "the share can't be saved: only its owner and administrators change its participants and permissions; "
                    + "others may remove themselves alone")
        }
    }

    private static func put(_ participant: CKShareParticipant, isNew: Bool) throws(CKError) -> ShareEdit.Put {
        let values = participant.values.current
        guard let role = values.role.modelRole else {
            throw refusal("a participant's role is \(values.role); set it to privateUser or administrator")
        }
        guard let permission = values.permission.modelPermission else {
            throw refusal("a participant's permission is unknown; set it to none, readOnly or readWrite")
        }
        let invitee: ShareEdit.Put.Invitee?
        do throws(CKError) {
            invitee = isNew ? try values.userIdentity.invitee() : nil
        } catch {
            throw refusal(error.localizedDescription)
        }
        return ShareEdit.Put(id: participant.participantID, invitee: invitee, role: role, permission: permission)
    }

    private static func refusal(_ reason: String) -> CKError {
        CKError(.invalidArguments, message: "the share can't be saved: \(reason)")
    }
}

extension CKUserIdentity {
    /// The user whom an invitation of this identity is for.
    fileprivate func invitee() throws(CKError) -> ShareEdit.Put.Invitee {
        if let lookupInfo { return try lookupInfo.invitee() }
        if let userRecordID { return .user(userRecordID.recordName) }
        return .oneTime
    }
}

extension CKUserIdentityLookupInfo {
    /// The user whom a participant is made for.
    ///
    /// - Throws: `invalidArguments` for an address, a number or a name that nobody can have.
    func invitee() throws(CKError) -> ShareEdit.Put.Invitee {
        if let emailAddress {
            guard let handle = Handle(email: emailAddress) else {
                throw CKError(.invalidArguments, message: Handle.emailForm)
            }
            return .handle(handle)
        }
        if let phoneNumber {
            guard let handle = Handle(phone: phoneNumber) else {
                throw CKError(.invalidArguments, message: Handle.phoneForm)
            }
            return .handle(handle)
        }
        guard let name = userRecordID?.recordName, Names.isUserRecordName(name) else {
            throw CKError(
                .invalidArguments,
                message:
                    "a user is looked up by the name that the server gave their user record: an underscore and 32 "
                    + "hexadecimal digits")
        }
        return .user(name)
    }

    /// The participant that is looked up by this.
    var participant: Result<CKShareParticipant, CKError> {
        do throws(CKError) {
            _ = try invitee()
            return .success(CKShareParticipant(lookupInfo: self))
        } catch {
            return .failure(error)
        }
    }

    /// Whether both look up one user, however the handle is written.
    func isSameUser(as other: CKUserIdentityLookupInfo) -> Bool {
        if self == other { return true }
        guard let own = try? invitee(), let others = try? other.invitee() else { return false }
        return own == others
    }
}

extension ShareSave {
    /// No fewer bytes than it takes in a request.
    var encodedBytesMax: Int {
        /// A tag and a length, and a participant's numbers.
        let overhead = 24
        let texts = edit.removals + edit.denials + edit.blocks + edit.unblocks
        return edit.puts.reduce(root.utf8.count + 2 * overhead) { count, put in
            let invitee =
                switch put.invitee {
                case .handle(.email(let text)), .handle(.phone(let text)), .user(let text): text.utf8.count
                case .oneTime, nil: 0
                }
            return count + put.id.utf8.count + invitee + 2 * overhead
        } + texts.reduce(0) { $0 + $1.utf8.count + overhead }
    }
}
