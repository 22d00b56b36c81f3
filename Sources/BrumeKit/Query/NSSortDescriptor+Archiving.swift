public import Foundation

extension NSSortDescriptor: @retroactive NSCoding, @retroactive NSSecureCoding {}

extension NSSortDescriptorFactory {
    /// Archives are read under secure coding.
    public static var supportsSecureCoding: Bool { true }

    /// Writes the descriptor into a keyed archive: its key, direction and place. One without a key traps.
    public func encode(with coder: NSCoder) {
        guard let descriptor = self as? NSSortDescriptor else {
            preconditionFailure("\(Self.self) is no NSSortDescriptor")
        }
        coder.requireKeyedCoding(for: NSSortDescriptor.self)
        guard let key else {
            preconditionFailure("a sort descriptor without a key can't be archived; name the field to sort by")
        }
        coder.encode(key, descriptor, forKey: "Sort", suffix: "")
    }

    /// Reads an archived descriptor; nil when the archive holds no valid one, or one of another class.
    public init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: NSSortDescriptor.self)
        guard let descriptor = coder.sortDescriptorIfPresent(forKey: "Sort", suffix: "") as? Self else { return nil }
        self = descriptor
    }
}

extension NSCoder {
    /// Writes a descriptor that has the key.
    func encode(_ name: String, _ descriptor: NSSortDescriptor, forKey prefix: String, suffix: String) {
        encode(name as NSString, forKey: prefix + "Key" + suffix)
        encode(descriptor.ascending, forKey: prefix + "Ascending" + suffix)
        if let place = (descriptor as? CKLocationSortDescriptor)?.relativeLocation {
            encode(place, forKey: prefix + "Place" + suffix)
        }
    }

    /// The descriptor of those keys; nil when one that is needed is missing or holds something else.
    func sortDescriptorIfPresent(forKey prefix: String, suffix: String) -> NSSortDescriptor? {
        guard let key = stringIfPresent(forKey: prefix + "Key" + suffix),
            containsValue(forKey: prefix + "Ascending" + suffix)
        else { return nil }
        let ascending = decodeBool(forKey: prefix + "Ascending" + suffix)
        guard containsValue(forKey: prefix + "Place" + suffix) else {
            return NSSortDescriptor(key: key, ascending: ascending)
        }
        guard let place = objectIfPresent(of: CLLocation.self, forKey: prefix + "Place" + suffix) else { return nil }
        return CKLocationSortDescriptor(name: key, relativeLocation: place, ascending: ascending)
    }
}
