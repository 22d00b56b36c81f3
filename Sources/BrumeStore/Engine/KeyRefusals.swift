package import BrumeModel

/// The saves of a request whose encrypted values or stamps are of other keys than they have to be, and what each fails
/// with. There are none as a rule.
package struct KeyRefusals {
    /// By the index of the zone in the request, then by that of the save in it.
    private var errors: [Int: [Int: ServiceError]] = [:]

    package init() {}

    package var isEmpty: Bool { errors.isEmpty }

    package mutating func refuse(_ item: Int, ofZone zone: Int, _ error: ServiceError) {
        errors[zone, default: [:]][item] = error
    }

    func ofZone(_ zone: Int) -> [Int: ServiceError] { errors.isEmpty ? [:] : errors[zone] ?? [:] }
}
