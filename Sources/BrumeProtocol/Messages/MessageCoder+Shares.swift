package import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// `Shares.Metadata`, `Shares.RequestAccess` and `Shares.Accept`.
extension MessageCoder {
    // MARK: The server's side

    package func decodeShareMetadataRequest(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> ShareMetadataRequest {
        let message = try request(brume__v1__share_metadata_request__unpack, bytes)
        return ShareMetadataRequest(
            url: try Self.url(message.pointee.url), wantsRoot: message.pointee.wants_root != 0,
            rootKeys: try RequestChecks.desiredKeys(message.pointee.root_keys))
    }

    package func decodeRequestAccessRequest(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> String {
        try Self.url(try request(brume__v1__request_access_request__unpack, bytes).pointee.url)
    }

    package func decodeAcceptShareRequest(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> String {
        try Self.url(try request(brume__v1__accept_share_request__unpack, bytes).pointee.url)
    }

    private static func url(_ data: ProtobufCBinaryData) throws(ServiceError) -> String {
        guard data.len <= Limits.shareURLBytes else {
            throw ServiceError(
                .invalidArguments,
                "a share's URL has \(data.len) bytes, and none has more than \(Limits.shareURLBytes); "
                    + "leave out its title"
            )
        }
        return try text(data, "a share's URL")
    }

    /// Writes the answer; the records' bytes are copied into it unchanged.
    package func encodeShareMetadataResponse(_ metadata: ShareMetadata<SharedBytes>) -> [UInt8] {
        let zone = encode { $0.zoneID(metadata.zone) }
        let numbers = [
            UInt64(metadata.role.rawValue), UInt64(metadata.permission.rawValue), metadata.isAccepted ? 1 : 0,
        ]
        let count =
            WireSize.data(metadata.container.utf8.count) + WireSize.integer(UInt64(metadata.environment.rawValue))
            + WireSize.message(zone.count) + WireSize.message(metadata.share.count)
            + WireSize.data(metadata.root.utf8.count)
            + (metadata.rootRecord.map { WireSize.message($0.count) } ?? 0)
            + numbers.reduce(0) { $0 + WireSize.integer($1) } + WireSize.data(metadata.user.utf8.count)
        var bytes: [UInt8] = []
        bytes.append(byteCount: count) { filler in
            filler.text(1, metadata.container)
            filler.integer(2, UInt64(metadata.environment.rawValue))
            filler.message(3, zone)
            filler.message(4, metadata.share)
            filler.text(5, metadata.root)
            if let record = metadata.rootRecord { filler.message(6, record) }
            for (index, number) in numbers.enumerated() { filler.integer(UInt8(7 + index), number) }
            filler.text(10, metadata.user)
        }
        return bytes
    }

    package func encodeRequestAccessResponse() -> [UInt8] { [] }

    package func encodeAcceptShareResponse(_ accepted: AcceptedShare<SharedBytes>) -> [UInt8] {
        let zone = encode { $0.zoneID(accepted.zone) }
        var bytes: [UInt8] = []
        bytes.append(byteCount: WireSize.message(zone.count) + WireSize.message(accepted.share.count)) { filler in
            filler.message(1, zone)
            filler.message(2, accepted.share)
        }
        return bytes
    }

    // MARK: The client's side

    package func encodeShareMetadataRequest(_ request: ShareMetadataRequest) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__share_metadata_request__init)
            message.pointee.url = arena.data(request.url)
            message.pointee.wants_root = request.wantsRoot ? 1 : 0
            message.pointee.root_keys = arena.desiredKeys(request.rootKeys)
            return message
        }
    }

    package func encodeRequestAccessRequest(url: String) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__request_access_request__init)
            message.pointee.url = arena.data(url)
            return message
        }
    }

    package func encodeAcceptShareRequest(url: String) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__accept_share_request__init)
            message.pointee.url = arena.data(url)
            return message
        }
    }

    package func decodeAcceptShareResponse(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> AcceptedShare<Record> {
        let message = try answer(brume__server__v1__accept_share_response_view__unpack, bytes)
        guard let zone = message.pointee.zone, message.pointee.share.len > 0 else {
            throw Self.unreadableAnswer("an accepted share is missing, or the zone that it is in")
        }
        let accepted = AcceptedShare(
            zone: ZoneCoder.lossy(zone),
            share: try StoredRecord.decode(message.pointee.share.rawBuffer, fieldArena: fieldArena))
        guard accepted.share.shareDetails != nil else { throw Self.unreadableAnswer("an accepted share is none") }
        return accepted
    }

    package func decodeShareMetadataResponse(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> ShareMetadata<Record> {
        let message = try answer(brume__server__v1__share_metadata_response_view__unpack, bytes)
        guard let environment = UInt8(exactly: message.pointee.environment).flatMap(Environment.init),
            let zone = message.pointee.zone,
            let role = UInt8(exactly: message.pointee.role).flatMap(ShareView.Role.init),
            let permission = UInt8(exactly: message.pointee.permission).flatMap(Share.Permission.init),
            message.pointee.share.len > 0
        else { throw Self.unreadableAnswer("a share is described by something that this version does not know") }
        let rootRecord = message.pointee.root_record
        let metadata = ShareMetadata(
            container: try text(message.pointee.container, "a container's name"), environment: environment,
            zone: ZoneCoder.lossy(zone),
            share: try StoredRecord.decode(message.pointee.share.rawBuffer, fieldArena: fieldArena),
            root: try text(message.pointee.root, "the name of a shared record"),
            rootRecord: rootRecord.len == 0
                ? nil : try StoredRecord.decode(rootRecord.rawBuffer, fieldArena: fieldArena),
            role: role, permission: permission, isAccepted: message.pointee.is_accepted != 0,
            user: try text(message.pointee.user, "a user record name"))
        guard metadata.share.shareDetails != nil else { throw Self.unreadableAnswer("the share at a URL is none") }
        return metadata
    }
}
