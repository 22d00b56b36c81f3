/// Looks users up, to be added to a share.
///
/// Every address, number or record id gives a participant, pending and `privateUser`, who may read: so nobody learns
/// who has an account. The server is not asked. A malformed item fails with `invalidArguments`; without an account, the
/// operation and each item fail with `notAuthenticated`.
open class CKFetchShareParticipantsOperation: CKOperation, @unchecked Sendable {
    private struct Parameters {
        var items: [CKUserIdentity.LookupInfo]?
        var each: ((CKUserIdentity.LookupInfo, Result<CKShare.Participant, any Error>) -> Void)?
        var ended: ((Result<Void, any Error>) -> Void)?
        var oldEach: ((CKShare.Participant) -> Void)?
        var oldEnd: (((any Error)?) -> Void)?
    }

    private let parameters = Guarded(Parameters())

    /// An operation that looks the given users up.
    public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
        self.init()
        parameters.items = userIdentityLookupInfos
    }

    /// What the operation is about.
    public var userIdentityLookupInfos: [CKUserIdentity.LookupInfo]? {
        get { parameters.items }
        set { parameters.items = newValue }
    }

    /// Called once for each item.
    public var perShareParticipantResultBlock:
        (
            (_ lookupInfo: CKUserIdentity.LookupInfo, _ participantResult: Result<CKShare.Participant, any Error>) ->
                Void
        )?
    {
        get { parameters.each }
        set { parameters.each = newValue }
    }

    /// Called last.
    public var fetchShareParticipantsResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { parameters.ended }
        set { parameters.ended = newValue }
    }

    /// Called for each participant, where there is no ``perShareParticipantResultBlock``.
    @available(*, deprecated, message: "Use perShareParticipantResultBlock")
    public var shareParticipantFetchedBlock: ((CKShare.Participant) -> Void)? {
        get { parameters.oldEach }
        set { parameters.oldEach = newValue }
    }

    /// Called last.
    @available(*, deprecated, message: "Use fetchShareParticipantsResultBlock")
    public var fetchShareParticipantsCompletionBlock: (((any Error)?) -> Void)? {
        get { parameters.oldEnd }
        set { parameters.oldEnd = newValue }
    }

    override func execute(_ run: OperationRun) async {
        let failure = await run.attempt { () throws(CKError) in try run.container.checkAccount() }
        var outcomes = ItemOutcomes<CKUserIdentity.LookupInfo>(failure: failure)
        for item in withoutRepetitions(parameters.items ?? []) {
            let result = outcomes.outcome(failure == nil ? item.participant.erased : nil, of: item)
            if let block = parameters.each {
                block(item, result)
            } else if case .success(let participant) = result {
                parameters.oldEach?(participant)
            }
        }
        if let block = parameters.ended {
            block(outcomes.result)
        } else {
            parameters.oldEnd?(outcomes.error)
        }
    }
}
