package import BrumeModel
internal import Foundation

extension CKQuery {
    /// The query as a request carries it.
    ///
    /// Throws `invalidArguments` for what CloudKit and Brume can't do, with a sentence that says what to write instead,
    /// and `limitExceeded` for too large a predicate. `now()` is the moment of this call.
    package func translated() throws(CKError) -> BrumeModel.Query {
        do throws(ServiceError) {
            return try modelQuery(now: Date().timeIntervalSinceReferenceDate)
        } catch {
            throw CKError(error)
        }
    }

    private func modelQuery(now: Double) throws(ServiceError) -> BrumeModel.Query {
        if recordType == Names.userRecordType {
            throw ServiceError(
                .invalidArguments, "records of type \"Users\" can't be queried; fetch them by their ids")
        }
        if let problem = Names.problemWithRecordType(recordType) { throw ServiceError(.invalidArguments, problem) }
        let descriptors = sortDescriptors ?? []
        guard descriptors.count <= Limits.querySortKeys else {
            throw ServiceError(
                .limitExceeded,
                "a query sorts by \(descriptors.count) keys; the limit is \(Limits.querySortKeys): name fewer")
        }
        var sorts: [QuerySort] = []
        for descriptor in descriptors { sorts.append(try descriptor.querySort()) }
        return Query(
            recordType: recordType, predicate: try predicate.node.translated(now: now), sortDescriptors: sorts)
    }
}

extension NSPredicate {
    /// The predicate as a request carries it: see ``CKQuery/translated()``.
    package func translated() throws(CKError) -> BrumeModel.Predicate {
        do throws(ServiceError) {
            return try node.translated(now: Date().timeIntervalSinceReferenceDate)
        } catch {
            throw CKError(error)
        }
    }
}

extension PredicateNode {
    /// The predicate for the server, at a moment in seconds since 2001.
    func translated(now: Double) throws(ServiceError) -> BrumeModel.Predicate {
        let predicate = try PredicateTranslator(now: now).predicate(self, depth: 1)
        if let problem = predicate.size.problem { throw problem }
        return predicate
    }
}

extension QueryKey {
    /// The key of that name, or why there is none. `place` says where it stands, for the sentence.
    init(checking name: String, _ place: String) throws(ServiceError) {
        self.init(name: name)
        guard case .field = self else { return }
        if name.utf8.contains(UInt8(ascii: ".")) {
            throw ServiceError(
                .invalidArguments,
                "\(place) has a key path with a dot, and only the record's own fields can be reached; name a field, or query the other records first"
            )
        }
        if let problem = Names.problemWithFieldKey(name) {
            throw ServiceError(.invalidArguments, "\(place): \(problem)")
        }
    }
}
