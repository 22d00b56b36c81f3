internal import BrumeEncryption
internal import BrumeModel
internal import BrumeProtocol
internal import Foundation

/// Requests that name the URL of a share.
extension AccountBinding {
    /// Fetches what a share's URL leads to.
    ///
    /// - Parameters:
    ///   - wantsRoot: Whether the shared record is fetched as well.
    ///   - rootKeys: The fields of that record to fetch; nil for all.
    func shareMetadata(
        for url: URL, wantsRoot: Bool = false, rootKeys: [CKRecord.FieldKey]? = nil, _ options: CallOptions
    ) async throws(CKError) -> CKShareMetadata {
        let request = ShareMetadataRequest(
            url: try url.shareAddress(), wantsRoot: wantsRoot, rootKeys: wantsRoot ? rootKeys : nil)
        let answer = try await call(
            .sharesMetadata, options: options, encode: { coder in coder.encodeShareMetadataRequest(request) },
            decode: { (coder, bytes) throws(ServiceError) in try coder.decodeShareMetadataResponse(bytes) })
        return try CKShareMetadata.make(answer, origin: answerContext.origin, link: url.shareLink)
    }

    /// Asks the owner of a share for access.
    func requestShareAccess(to url: URL, _ options: CallOptions) async throws(CKError) {
        let address = try url.shareAddress()
        // Sent again like a read when the connection breaks: a second request changes nothing.
        try await call(
            .sharesRequestAccess, effect: .none, options: options,
            encode: { coder in coder.encodeRequestAccessRequest(url: address) }, decode: { _, _ in })
    }

    /// Takes part in a share.
    ///
    /// - Throws: What the server says, and ``acceptanceRefusal(of:)``.
    func accept(_ metadata: CKShareMetadata, _ options: CallOptions) async throws(CKError) -> CKShare {
        if let refusal = acceptanceRefusal(of: metadata) { throw refusal }
        guard let url = metadata.share.url else {
            throw CKError(
                .invalidArguments,
                message: "the metadata's share has no URL; fetch the metadata with CKContainer.shareMetadata(for:)")
        }
        let address = try url.shareAddress()
        // Sent again like a read when the connection breaks: accepting again changes nothing.
        let accepted = try await call(
            .sharesAccept, effect: .none, options: options,
            encode: { coder in coder.encodeAcceptShareRequest(url: address) },
            decode: { (coder, bytes) throws(ServiceError) in try coder.decodeAcceptShareResponse(bytes) })
        let context = answerContext
        guard Names.isUserRecordName(accepted.zone.owner), accepted.zone.owner != context.currentUser,
            let zoneID = CKRecordZone.ID(accepted.zone, currentUser: context.currentUser),
            let share = CKRecord.make(accepted.share, zoneID: zoneID, context: context) as? CKShare
        else { throw .malformedResponse("an accepted share is not one of another user's zone") }
        let root = metadata.hierarchicalRootRecordID?.recordName ?? ""
        try await askForKeys(
            of: ZoneRingID(owner: accepted.zone.owner, zone: accepted.zone.name, root: root), by: metadata.link, options
        )
        return share
    }

    /// Asks those who make a share's keys to hand them to this account, where they may be of use: it came by a link
    /// with keys, or has keys.
    ///
    /// - Throws: What keeps from asking: then the app accepts again. `permissionFailure` where the link is of another
    ///   owner.
    private func askForKeys(
        of ring: ZoneRingID, by link: LinkFragment?, _ options: CallOptions
    ) async throws(CKError) {
        do throws(CKError) {
            if link == nil, try await !keyFolders.folder(of: self, options).isMade { return }
            try await encryptedZones.join(ring, by: link, for: self, options)
        } catch {
            // The share is accepted: a device of the account's that has its keys asks when it opens the link.
            if !error.concernsKeys { throw error }
        }
    }

    /// Why the container can't accept a share; nil for one that the server may be asked to accept.
    func acceptanceRefusal(of metadata: CKShareMetadata) -> CKError? {
        let container = configuration.container
        if metadata.containerIdentifier == container { return nil }
        return CKError(
            .badContainer,
            message:
                "the share is in the container \(metadata.containerIdentifier), and this one is \(container ?? "unnamed"); "
                + "accept it with CKContainer(identifier: metadata.containerIdentifier)")
    }

    /// Takes part in shares, with one call for each.
    func accept(
        _ metadatas: [CKShareMetadata], _ options: CallOptions
    ) async -> (results: [CKShareMetadata: Result<CKShare, any Error>], failure: CKError?) {
        // Another container's share says nothing about the others, while a badContainer of the server's would.
        var refused: [CKShareMetadata: Result<CKShare, any Error>] = [:]
        for metadata in metadatas { refused[metadata] = acceptanceRefusal(of: metadata).map { .failure($0) } }
        let (results, failure) = await shareLinkOutcomes(metadatas.filter { refused[$0] == nil }) {
            (metadata) throws(CKError) in try await self.accept(metadata, options)
        }
        return (results.merging(refused) { $1 }, failure)
    }

    /// Makes one call for each URL, or for each share's metadata, a few at a time.
    ///
    /// - Returns: The outcomes of single items, and what failed all of them: an error that concerns the account or the
    ///   connection, after which no further call is made and those under way are cancelled.
    func shareLinkOutcomes<Item: Hashable & Sendable, Answer: Sendable>(
        _ items: [Item], _ request: @escaping @Sendable (Item) async throws(CKError) -> Answer
    ) async -> (results: [Item: Result<Answer, any Error>], failure: CKError?) {
        let items = withoutRepetitions(items)
        let (outcomes, failure) = await outcomes(
            of: items, atATime: ClientSessionLimits.shareLinkCallsMax, request)
        var results: [Item: Result<Answer, any Error>] = [:]
        for (item, outcome) in zip(items, outcomes) { results[item] = outcome?.erased }
        return (results, failure)
    }
}
