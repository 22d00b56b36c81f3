package import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// `Rings.FindRoots`: which record is the root of a tree.
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
}
