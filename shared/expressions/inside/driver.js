/**
 * Runs the rows of one crossing. `began(row, expression)` is the host's one ear inside: called when a row begins in a new millisecond
 * (the row's time runs from there) and, for a row that crosses alone, at every expression.
 */
export const drive = ({row: state, regexes, deepFreeze, now}, {began, limits}) => {
  const {freeze, values: valuesOf} = Object
  const {isArray} = Array
  const {stringify, parse} = JSON
  const {imul} = Math

  /** The text of a seed as 32 bits (FNV-1a). */
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

  /** Plain data as JSON would have it. Never calls a value's own `toJSON`; what is not data is refused by name. */
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

  /** Of a stack that may be as deep as the limit, the two frames that are of use: the topmost of a library's and of the program's. */
  const framesOf = stack => {
    const frames = stack.split('\n')
    const topmost = file => frames.find(frame => frame.includes(file))?.slice(-300) ?? ''
    return `${topmost('library:')}\n${topmost('program:')}`
  }

  /** What costs the runtime. An interrupt cannot be caught, but out of a generator it comes as an error like any other. */
  const FAULTS = {'out of memory': 'EXPRESSION_MEMORY', interrupted: 'EXPRESSION_TIMEOUT'}

  /** What was thrown, whatever it is: reading it may throw too. */
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

  /** What JSON gave: plain, and no deeper than its parser goes. */
  const freezeData = data => {
    if (typeof data !== 'object' || data === null) return data
    for (const held of valuesOf(data)) freezeData(held)
    return freeze(data)
  }

  let program = null
  /** The message of what ended the row; null while nothing has. */
  let fault = null
  /** How much the answer holds by now. */
  let chars = 0

  /** A library's exports: frozen with its constants, so that no call leaves anything for the next. */
  const load = (factory, helpers) => {
    const {exports, constants} = factory(helpers)
    deepFreeze(constants)
    return deepFreeze(exports)
  }

  /** What is not simply short text: other plain values as they are, data as a copy. Throws what an answer may not be. */
  const settle = value => {
    if (value === undefined || value === null || typeof value === 'boolean') return value ?? null
    if (typeof value === 'number' && value - value === 0) return value
    return copy(value, 0, {chars: limits.resultChars}, []) ?? null
  }

  /** `evaluateRow` answers how many characters it pushed (see `program-script.ts`); `make` builds a row out of flat cells. */
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
   * From row `first` on. Answers `[next, values, errors]` as JSON: values flat, row by row; errors as `[index into values, expression,
   * code, message, stack]`. Stops early when the answer has grown past what crosses at once. Throws a fault.
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

  /** One function of a library with one example's arguments: `[result, null]`, or `[null, [code, message, stack]]`. */
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

  /** The expression context: plain data, the same for every row. */
  const data = json => freezeData(parse(json))

  const kinds = exports => stringify(Object.fromEntries(Object.entries(exports).map(([name, held]) => [name, typeof held])))

  const forget = () => {
    program = null
    regexes.length = 0
  }

  return {define, run, load, call, data, kinds, forget}
}
