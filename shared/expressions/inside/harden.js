/**
 * Runs once in every new sandbox, before any code of an org. Removes all globals and methods by which a row's result could depend on the
 * host, the time or an earlier row, and freezes the rest. Returns the functions and objects that the driver needs.
 */
export const harden = () => {
  const {ownKeys, apply, getPrototypeOf} = Reflect
  const {freeze, defineProperty, getOwnPropertyDescriptor} = Object
  const now = Date.now
  const row = {clock: 0, seed: 0}
  const sealed = new WeakSet()

  const define = (target, name, value) => defineProperty(target, name, {value, writable: true, configurable: true, enumerable: false})

  /** Makes `Date` use the run's clock instead of the machine's; `new Date(text)` and all other uses are unchanged. */
  const PlainDate = Date
  const ClockDate = function (...parts) {
    if (!new.target) return `${new PlainDate(row.clock)}`
    return Reflect.construct(PlainDate, parts.length ? parts : [row.clock], new.target)
  }
  for (const name of ownKeys(PlainDate)) defineProperty(ClockDate, name, getOwnPropertyDescriptor(PlainDate, name))
  define(ClockDate, 'now', () => row.clock)
  define(PlainDate.prototype, 'constructor', ClockDate)
  define(globalThis, 'Date', ClockDate)

  /** Implements mulberry32 (Tommy Ettinger, public domain). Its state of 32 bits is set by the driver for every row. */
  define(Math, 'random', () => {
    row.seed = (row.seed + 0x6d2b79f5) | 0
    let mixed = Math.imul(row.seed ^ (row.seed >>> 15), row.seed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  })

  /**
   * Makes a library's constant Map or Set immutable, because freezing does not protect its entries. Every method that is not listed as
   * reading counts as a mutation, because a later engine may add mutating methods.
   */
  const iterates = ['constructor', 'has', 'forEach', 'keys', 'values', 'entries']
  const reads = [
    [Map.prototype, ['get', ...iterates]],
    [
      Set.prototype,
      ['union', 'intersection', 'difference', 'symmetricDifference', 'isSubsetOf', 'isSupersetOf', 'isDisjointFrom', ...iterates],
    ],
  ]
  const isSealed = WeakSet.prototype.has.bind(sealed)
  for (const [prototype, names] of reads)
    for (const name of ownKeys(prototype)) {
      const plain = getOwnPropertyDescriptor(prototype, name).value
      if (typeof plain !== 'function' || names.includes(name) || typeof name === 'symbol') continue
      define(prototype, name, function (...given) {
        if (isSealed(this)) throw new TypeError('A constant of a library cannot be changed')
        return apply(plain, this, given)
      })
    }

  /** Prevents source text from becoming code, by name or through a function's constructor. Removes everything asynchronous. */
  const functions = [() => {}, async () => {}, function* () {}, async function* () {}]
  for (const each of functions) define(getPrototypeOf(each), 'constructor', undefined)
  for (const name of ['eval', 'Function', 'WeakRef', 'FinalizationRegistry', 'SharedArrayBuffer', 'Atomics', 'Promise'])
    delete globalThis[name]

  /** Removed because replacing a pattern in place would keep state between rows. */
  delete RegExp.prototype.compile

  const regexes = []
  const isMap = value => getPrototypeOf(value) === Map.prototype
  const isSet = value => getPrototypeOf(value) === Set.prototype

  const frozen = new WeakSet([row])

  /**
   * Freezes a value and everything reachable from it. Regular expressions that use `lastIndex` keep it writable, and the driver resets it
   * for every row.
   */
  const deepFreeze = root => {
    const open = [root]
    while (open.length) {
      const value = open.pop()
      if ((typeof value !== 'object' && typeof value !== 'function') || value === null || frozen.has(value)) continue
      frozen.add(value)
      if (value instanceof RegExp && value !== RegExp.prototype) {
        for (const key of ownKeys(value)) if (key !== 'lastIndex') throw new TypeError('A regular expression holds nothing else')
        if (value.global || value.sticky) regexes.push(Object.preventExtensions(value))
        else freeze(value)
      } else if (!ArrayBuffer.isView(value)) freeze(value)
      if (value !== Map.prototype && isMap(value)) for (const entry of value) open.push(entry[0], entry[1])
      if (value !== Set.prototype && isSet(value)) for (const entry of value) open.push(entry)
      if (isMap(value) || isSet(value)) sealed.add(value)
      for (const key of ownKeys(value)) {
        const property = getOwnPropertyDescriptor(value, key)
        open.push(property.value, property.get, property.set)
      }
      open.push(getPrototypeOf(value))
    }
    return root
  }

  /**
   * Makes names of a frozen prototype assignable. Assigning to a property that a frozen prototype has fails ("override mistake"), but
   * assignments such as `error.name = 'X'` are common. So these names become accessors that define the property on the object itself.
   */
  const overridable = (prototype, names) => {
    for (const name of names) {
      const {value} = getOwnPropertyDescriptor(prototype, name)
      defineProperty(prototype, name, {
        configurable: false,
        get: () => value,
        set(given) {
          if (this === prototype) throw new TypeError(`${name} is read only`)
          defineProperty(this, name, {value: given, writable: true, configurable: true, enumerable: true})
        },
      })
    }
  }
  overridable(Error.prototype, ['name', 'message', 'toString', 'constructor'])
  overridable(Object.prototype, ['toString', 'valueOf', 'toLocaleString', 'hasOwnProperty', 'constructor'])
  for (const kind of [TypeError, RangeError, SyntaxError]) overridable(kind.prototype, ['name', 'message'])

  /** Prototypes that cannot be reached through any property. */
  const hidden = [
    ...functions,
    ...functions.map(each => each.prototype),
    [].values(),
    new Map().entries(),
    new Set().values(),
    ''[Symbol.iterator](),
    'a'.matchAll(/a/g),
    [].values().map(String),
    Iterator.from({next: () => ({done: true})}),
    Iterator.concat?.([]),
  ].filter(value => value !== undefined)
  for (const each of hidden) deepFreeze(getPrototypeOf(each))
  deepFreeze(globalThis)
  return {row, regexes, deepFreeze, now}
}
