/**
 * Returns the functions by which the host runs rows in the sandbox. `began(row, expression)` is the only function of the host that the driver
 * calls. The driver calls `began` when a row begins in a new millisecond; the call starts the time limit of the row. If a row is transferred
 * alone, `began` is also called before every expression.
 */
export const drive = ({row: state, regexes, deepFreeze, now}, {began, limits}) => {
  const {freeze, values: valuesOf} = Object
  const {isArray} = Array
  const {stringify, parse} = JSON
  const {imul} = Math

  /** Hashes the text of a seed to 32 bits (FNV-1a). */
  const hashOf = text => {
    let hash = 0x811c9dc5
    for (let at = 0; at < text.length; at++) hash = imul(hash ^ text.charCodeAt(at), 0x01000193)
    return hash
  }

  class Refused extends Error {}

  const refusals = {
    number: 'The result is not a finite number (NaN or Infinity); check what it is computed from',
    bigint: 'The result is a BigInt; make it text with String(…) or a number with Number(…)',
    function: 'The result is a function; call it',
    symbol: 'The result is a symbol, which cannot be written',
  }

  /** Copies plain data in the same way as JSON. Never calls a value's own `toJSON`. Refuses other values by name. */
  const copy = (value, depth, budget, path) => {
    if (typeof value === 'string') budget.chars -= value.length + 3
    else budget.chars -= 8
    if (budget.chars < 0) throw new Refused(`The result is larger than ${limits.resultChars} characters`)
    if (value === undefined || value === null || typeof value === 'string' || typeof value === 'boolean') return value
    if (typeof value === 'number' && value - value === 0) return value
    if (typeof value !== 'object') throw new Refused(refusals[typeof value])
    if (value instanceof Date) {
      const time = Date.prototype.getTime.call(value)
      if (Number.isNaN(time)) throw new Refused('The result is an invalid date')
      return Date.prototype.toISOString.call(value)
    }
    if (path.includes(value)) throw new Refused('The result contains itself')
    if (depth === limits.resultDepth) throw new Refused(`The result nests deeper than ${limits.resultDepth} levels`)
    const prototype = Object.getPrototypeOf(value)
    const inner = [...path, value]
    if (isArray(value)) {
      if (value.length > budget.chars) throw new Refused(`The result is larger than ${limits.resultChars} characters`)
      const copied = []
      for (let at = 0; at < value.length; at++) copied.push(copy(value[at], depth + 1, budget, inner) ?? null)
      return copied
    }
    if (prototype !== Object.prototype && prototype !== null) throw new Refused(`The result is ${nameOf(value)}, which is not plain data`)
    const copied = Object.create(null)
    for (const key of Object.keys(value)) {
      if (key === '__proto__') throw new Refused('The result has a key named __proto__')
      budget.chars -= key.length
      const held = copy(value[key], depth + 1, budget, inner)
      if (held !== undefined) copied[key] = held
    }
    return copied
  }

  const nameOf = value => Object.prototype.toString.call(value).slice(8, -1)

  /** Returns the two useful frames of a stack, which may be very deep: the topmost frame of a library and of the program. */
  const framesOf = stack => {
    const frames = stack.split('\n')
    const topmost = file => frames.find(frame => frame.includes(file))?.slice(-300) ?? ''
    return `${topmost('library:')}\n${topmost('program:')}`
  }

  /** Errors that end the runtime. Expressions cannot catch an interrupt, but a generator throws it as an ordinary error. */
  const FAULTS = {'out of memory': 'EXPRESSION_MEMORY', interrupted: 'EXPRESSION_TIMEOUT'}

  /** Describes a thrown value of any kind. Reading the value may throw too. */
  const describe = error => {
    try {
      if (error instanceof Refused) return ['EXPRESSION_VALUE', error.message, '']
      const message = error instanceof Error ? String(error.message) : `Thrown: ${String(error)}`
      const stack = error instanceof Error ? String(error.stack) : ''
      const internal = error instanceof InternalError || error instanceof SyntaxError
      if (internal && FAULTS[message]) return [FAULTS[message], message, '']
      const code = internal && message === 'stack overflow' ? 'EXPRESSION_STACK' : 'EXPRESSION_THROWN'
      return [code, message.slice(0, limits.messageChars), framesOf(stack)]
    } catch {
      return ['EXPRESSION_THROWN', 'What was thrown cannot be read', '']
    }
  }

  /** Freezes parsed JSON, which is plain data and limited in depth by the parser. */
  const freezeData = data => {
    if (typeof data !== 'object' || data === null) return data
    for (const held of valuesOf(data)) freezeData(held)
    return freeze(data)
  }

  let program = null
  /** The message of the fault that ended the row, or null. */
  let fault = null
  let chars = 0

  /** Returns a library's exports, frozen with its constants, so that no call leaves data for the next. */
  const load = (factory, helpers) => {
    const {exports, constants} = factory(helpers)
    deepFreeze(constants)
    return deepFreeze(exports)
  }

  /**
   * Prepares a result that is not a short text. Plain values stay unchanged; data is copied. Throws for values that an answer cannot
   * contain.
   */
  const settle = value => {
    if (value === undefined || value === null || typeof value === 'boolean') return value ?? null
    if (typeof value === 'number' && value - value === 0) return value
    return copy(value, 0, {chars: limits.resultChars}, []) ?? null
  }

  /**
   * Sets the program. `evaluateRow` returns the number of characters that it added to the answer (see `program-script.ts`); `make` builds a
   * row from flat cells.
   */
  const define = (open, make, ...given) => {
    const errors = []
    const fail = (at, index, error) => {
      const described = describe(error)
      if (FAULTS[described[1]] === described[0]) fault = described[1]
      errors.push([at, index, ...described])
      chars += described[1].length + described[2].length
      return null
    }
    program = {evaluateRow: open(settle, fail, began, ...given), errors, make}
  }

  /**
   * Runs rows from `first` on. Returns `[next, values, errors]` as JSON. `values` is flat, row by row; each error is `[index into values,
   * expression, code, message, stack]`. Stops early when the answer exceeds the size of one transfer. Throws a fault.
   */
  const run = (json, head) => {
    const {evaluateRow, errors, make} = program
    const {first, width, numbers, clock, seed, alone} = parse(head)
    const cells = parse(json)
    const base = hashOf(seed)
    const out = []
    errors.length = 0
    fault = null
    state.clock = clock
    let stamped = 0
    chars = 0
    let at = first
    for (; at < numbers.length && chars < limits.crossingChars; at++) {
      const time = now()
      if (time !== stamped) {
        stamped = time
        began(at, -1)
      }
      for (let each = 0; each < regexes.length; each++) regexes[each].lastIndex = 0
      state.seed = imul(base ^ numbers[at], 0x9e3779b1)
      chars += evaluateRow(width ? make(cells, at * width) : freezeData(cells[at]), out, alone, at)
      if (fault) throw new InternalError(fault)
    }
    return stringify([at, out, errors])
  }

  /** Calls a library function with one example's arguments. Returns `[result, null]` or `[null, [code, message, stack]]` as JSON. */
  const call = (called, given) => {
    state.clock = 0
    state.seed = 0
    for (let each = 0; each < regexes.length; each++) regexes[each].lastIndex = 0
    try {
      return stringify([copy(called(...freezeData(parse(given))), 0, {chars: limits.resultChars}, []) ?? null, null])
    } catch (error) {
      return stringify([null, describe(error)])
    }
  }

  /** Parses the expression context, which is plain data and the same for every row. */
  const data = json => freezeData(parse(json))

  const kinds = exports => stringify(Object.fromEntries(Object.entries(exports).map(([name, held]) => [name, typeof held])))

  const forget = () => {
    program = null
    regexes.length = 0
  }

  return {define, run, load, call, data, kinds, forget}
}
