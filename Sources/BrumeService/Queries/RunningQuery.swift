internal import BrumeModel
internal import BrumeStore

/// A query between its request and its answer. On the loop that owns the database, which stays in memory for as long.
final class RunningQuery {
    typealias Give = (_ outcome: Outcome, _ position: UInt64) -> Void

    let ticket: QueryTicket
    /// What was asked for, and by whom.
    let query: Query
    let identity: Identity
    /// The account whose share of the loop's time it takes.
    var account: ClientShare.Key { ticket.account }
    /// The version of the loop's schemas when it began, by which the caller may read what was asked for.
    let schemasVersion: UInt64
    /// What its cursor is bound to, computed only when there is one.
    let cursorBinding: () -> [UInt8]
    /// Whether the answer is the query's plan instead of its matches.
    let explains: Bool
    private let run: QueryRun
    /// The zone of another user that is read, and where the caller's part in it begins.
    private let sharedZone: (name: String, start: ChangePosition?)?
    let loaded: LoadedDatabase
    /// The position of the last commit that the answer may show: the database is shown as it was when the query began.
    private let position: UInt64
    private let give: Give
    private var pace = QueryPace()
    private var nanoseconds: UInt64 = 0
    private var slices = 0

    init(
        _ run: QueryRun, sharedZone: ZoneID?, of query: Query, by identity: Identity, schemasVersion: UInt64,
        in loaded: LoadedDatabase,
        cursorBinding: @escaping () -> [UInt8], explains: Bool, ticket: QueryTicket, _ give: @escaping Give
    ) {
        self.run = run
        self.sharedZone = sharedZone.map { zone in
            (zone.name, loaded.database.start(of: identity.userRecordName, inZoneNamed: zone.name))
        }
        self.query = query
        self.identity = identity
        self.schemasVersion = schemasVersion
        self.loaded = loaded
        self.cursorBinding = cursorBinding
        self.explains = explains
        self.ticket = ticket
        self.give = give
        position = loaded.lastPosition
        loaded.slicedWorkCount += 1
    }

    /// Does steps until the query ends or the budget is spent.
    ///
    /// - Returns: The page, when it is complete.
    func work(_ budget: inout QueryBudget, now: () -> UInt64) -> QueryResults? {
        slices += 1
        var before = now()
        while budget.isLeft {
            let wasReading = run.isReading
            let hasEnded = run.step(pace.stepUnits)
            let after = now()
            pace.stepTook(nanoseconds: after - before)
            // Reading does not cost the same as making an index.
            if run.isReading != wasReading { pace = QueryPace() }
            budget.spend(nanoseconds: after - before)
            nanoseconds += after - before
            before = after
            if hasEnded { return run.results }
        }
        return nil
    }

    /// Whether the caller does not take part any more in the zone of another user that was read.
    var hasLostZone: Bool {
        guard let sharedZone else { return false }
        return loaded.database.start(of: identity.userRecordName, inZoneNamed: sharedZone.name) != sharedZone.start
    }

    var database: DatabaseID { loaded.database.id }

    /// The engine's plan, with what only the loop knows.
    var plan: QueryPlan {
        var plan = run.plan
        plan.microseconds = Int(nanoseconds / 1_000)
        plan.slices = slices
        return plan
    }

    func end(_ outcome: Outcome) {
        loaded.slicedWorkCount -= 1
        give(outcome, position)
    }
}
