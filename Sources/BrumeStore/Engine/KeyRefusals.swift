package import BrumeModel

/// The saves of a request whose encrypted values or stamps are of other keys than they have to be, and the zones that
/// take no plain assets, with what each save fails with. There are none as a rule.
package struct KeyRefusals {
    /// By the index of the zone in the request, then by that of the save in it.
    private var errors: [Int: [Int: ServiceError]] = [:]
    /// By the index of the zone in the request.
    private var plainAssets: [Int: ServiceError] = [:]

    package init() {}

    package mutating func refuse(_ item: Int, ofZone zone: Int, _ error: ServiceError) {
        errors[zone, default: [:]][item] = error
    }

    /// Refuses each save of a zone that puts a plain asset into a field that does not have it.
    package mutating func refusePlainAssets(ofZone zone: Int, _ error: ServiceError) { plainAssets[zone] = error }

    func ofPlainAssets(inZone zone: Int) -> ServiceError? { plainAssets.isEmpty ? nil : plainAssets[zone] }

    func ofZone(_ zone: Int) -> [Int: ServiceError] { errors.isEmpty ? [:] : errors[zone] ?? [:] }
}
