package import BrumeModel
internal import Foundation

/// Shares as if a server had saved them, for the testing kit.
extension CKShare {
    /// The user as whom the server shows the current one.
    package static let madeUser = "_" + String(repeating: "0", count: 32)

    /// What a server would show of the share to its owner or an administrator, had it been saved as it is.
    ///
    /// - Parameter addedMilliseconds: When participants came who have not been saved.
    package func savedView(addedMilliseconds: Int64) -> ShareView {
        let (_, state) = snapshots
        let url = state.base?.view.url ?? "https://brume.example/share/\(recordID.recordName)"
        return ShareView(
            url: url, publicPermission: state.publicPermission.modelPermission ?? .none,
            allowsAccessRequests: state.allowsAccessRequests,
            participants: state.participants.compactMap { participant in
                participant.view(url: url, addedMilliseconds: addedMilliseconds)
            },
            requesters: state.requesters.compactMap { requester in
                requester.userName.map { ShareRequester(user: $0, requestedMilliseconds: addedMilliseconds) }
            },
            blockedUsers: state.blockedIdentities.compactMap(\.userIdentity.userName))
    }
}

extension CKShareParticipant {
    /// Nil for a participant who would be gone.
    fileprivate func view(url: String, addedMilliseconds: Int64) -> ShareView.Participant? {
        let values = values.current
        let isOwner = values.role == .owner
        guard let permission = values.permission.modelPermission, permission != Share.Permission.none || isOwner,
            let role = ShareView.Role(rawValue: UInt8(values.role.rawValue))
        else { return nil }
        let invitee = try? values.userIdentity.lookupInfo?.invitee()
        let userName = values.userIdentity.userRecordID?.recordName ?? ""
        let user = userName == CKCurrentUserDefaultName ? CKShare.madeUser : userName
        var view = ShareView.Participant(
            id: isOwner ? user : participantID, role: role, permission: permission,
            isAccepted: values.acceptanceStatus == .accepted, user: Names.isUserRecordName(user) ? user : "",
            addedMilliseconds: isOwner ? 0 : addedMilliseconds, isApprovedRequester: values.isApprovedRequester)
        if let date = values.dateAddedToShare { view.addedMilliseconds = date.millisecondsSince1970 }
        if case .handle(let handle) = invitee { view.handle = handle }
        if !view.isAccepted, view.user.isEmpty, view.handle == nil { view.oneTimeURL = "\(url)-\(participantID)" }
        return view
    }
}

extension Date {
    fileprivate var millisecondsSince1970: Int64 { Int64((timeIntervalSince1970 * 1_000).rounded()) }
}
