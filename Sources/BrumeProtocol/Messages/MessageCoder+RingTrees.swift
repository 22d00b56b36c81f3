package import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// `Rings.FindRoots` and `Rings.ListMisplaced`: which trees encrypted values are of.
extension MessageCoder {
    // MARK: The server's side

    package func decodeFindRingRootsRequest(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> FindRingRootsRequest {
        let message = try request(brume__v1__find_ring_roots_request__unpack, bytes)
        let count = message.pointee.n_tree_ids
        try RequestChecks.itemCount(count, "trees to find")
        let ids = (0..<count).map { message.pointee.tree_ids[$0].array }
        guard ids.allSatisfy({ $0.count == EncryptedHeader.TreeID.byteCount }) else {
            throw ServiceError(
                .invalidArguments,
                "the id of a tree has \(EncryptedHeader.TreeID.byteCount) bytes, as the header of an encrypted value has"
                    + " them")
        }
        return FindRingRootsRequest(zone: try ZoneCoder.checked(message.pointee.zone), treeIDs: ids)
    }

    package func encodeFindRingRootsResponse(_ roots: [String]) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__find_ring_roots_response__init)
            message.pointee.n_roots = roots.count
            message.pointee.roots = arena.list(roots)
            return message
        }
    }

    package func decodeListMisplacedRecordsRequest(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> ListMisplacedRecordsRequest {
        let message = try request(brume__v1__list_misplaced_records_request__unpack, bytes)
        return ListMisplacedRecordsRequest(
            zone: try ZoneCoder.checked(message.pointee.zone), start: message.pointee.start)
    }

    package func encodeListMisplacedRecordsResponse(_ page: MisplacedRecordsPage) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__list_misplaced_records_response__init)
            message.pointee.n_names = page.names.count
            message.pointee.names = arena.list(page.names)
            message.pointee.next = page.next
            return message
        }
    }

    // MARK: The client's side

    package func encodeFindRingRootsRequest(_ request: FindRingRootsRequest) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__find_ring_roots_request__init)
            message.pointee.zone = arena.zoneID(request.zone)
            message.pointee.n_tree_ids = request.treeIDs.count
            message.pointee.tree_ids = arena.list(request.treeIDs)
            return message
        }
    }

    package func decodeFindRingRootsResponse(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> [String] {
        let message = try answer(brume__v1__find_ring_roots_response__unpack, bytes)
        return try texts(message.pointee.roots, message.pointee.n_roots, "a record name")
    }

    package func encodeListMisplacedRecordsRequest(_ request: ListMisplacedRecordsRequest) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__list_misplaced_records_request__init)
            message.pointee.zone = arena.zoneID(request.zone)
            message.pointee.start = request.start
            return message
        }
    }

    package func decodeListMisplacedRecordsResponse(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> MisplacedRecordsPage {
        let message = try answer(brume__v1__list_misplaced_records_response__unpack, bytes)
        return MisplacedRecordsPage(
            names: try texts(message.pointee.names, message.pointee.n_names, "a record name"),
            next: message.pointee.next)
    }
}
