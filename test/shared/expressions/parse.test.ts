import test from 'ava'
import {LIMITS} from '../../../shared/expressions/limits.ts'
import {parseExpression} from '../../../shared/expressions/parse.ts'

const namespaces = {crm: ['score', 'grade']}

test('the fields that an expression reads are found, where possible', t => {
  const rows: [source: string, fields: string[] | null, readsValue?: boolean][] = [
    ['row.First + " " + row["Last name"]', ['First', 'Last name']],
    ['row.a?.b ?? row.a', ['a']],
    ['value.trim()', [], true],
    [`\`\${row.a}-\${row[\`b\`]}\``, ['a', 'b']],
    ['[1, 2].map(n => n * row.rate)', ['rate']],
    ['(({a = row.x, ...rest}, [b] = [row.y]) => a + b)({}, [])', ['x', 'y']],
    ['(row => row.inner)({inner: 1})', []],
    ['(value => value)(1)', []],
    ['row.constructor + row["__proto__"] + row[`prototype`]', ['constructor', '__proto__', 'prototype']],
    ['row[row.name]', null],
    ['Object.keys(row).length', null],
    ['helpers.lookup(row.a, row)', null],
    ['({...row}).a', null],
    ['1 + 1 // row.a', []],
    ['{a: row.a}', ['a']],
  ]
  for (const [source, fields, readsValue = false] of rows) {
    const result = parseExpression(source)
    t.like(result, {ok: true, parsed: {fields, readsValue}}, source)
  }
})

test('a column named like a way to a constructor is refused unless the file has it', t => {
  for (const name of ['constructor', 'prototype', '__proto__']) {
    t.like(parseExpression(`row.${name}`, {columns: [name]}), {ok: true})
    t.like(parseExpression(`row.${name}`, {columns: ['a']}), {ok: false, problem: {message: `The file has no column "${name}"`}})
  }
})

test('the libraries that an expression calls are found', t => {
  t.like(parseExpression('crm.score(row.a)', {namespaces}), {ok: true, parsed: {namespaces: ['crm']}})
  t.like(parseExpression('row.crm', {namespaces}), {ok: true, parsed: {namespaces: []}})
})

/** Sources that are refused, each with the line, the column and the message of the error. */
const refusals: [source: string, line: number, column: number, says: RegExp][] = [
  ['let a = 1', 1, 1, /no statements/],
  ['  if (row.a) 1', 1, 3, /no statements/],
  ['return row.a', 1, 1, /no statements/],
  ['row.a;', 1, 6, /without `;`/],
  ['row.a;\nrow.b', 1, 6, /without `;`/],
  ['row.a\nrow.b', 2, 1, /Unexpected `row`/],
  ['row.a = 1', 1, 1, /may not assign/],
  ['row.a ||= 1', 1, 1, /may not assign/],
  ['1 +\n  row.a++', 2, 3, /may not change/],
  ['[row.a].map(a => (a += 1))', 1, 19, /may not assign/],
  ['new Date()', 1, 1, /may not use `new`/],
  ['import("x")', 1, 1, /may not import/],
  ['import.meta.url', 1, 1, /import\.meta/],
  ['await row.a', 1, 1, /cannot wait/],
  ['async x => x', 1, 1, /cannot wait/],
  ['this.a', 1, 1, /no `this`/],
  ['function f() {}', 1, 1, /is an arrow/],
  ['(function () {})()', 1, 2, /is an arrow/],
  ['({get a() { return 1 }})', 1, 3, /is an arrow/],
  ['({a() { return 1 }})', 1, 3, /is an arrow/],
  ['x => { return x }', 1, 6, /without braces/],
  ['class A {}', 1, 1, /class/],
  ['row.a`x`', 1, 1, /tagged/],
  ['String.raw`x`', 1, 1, /tagged/],
  ['delete row.a', 1, 1, /may not delete/],
  ['value.constructor', 1, 7, /`constructor`/],
  ['row.a["constructor"]', 1, 7, /`constructor`/],
  ['(row)["constructor"]', 1, 7, /`constructor`/],
  ['row.constructor.constructor', 1, 17, /`constructor`/],
  ['(row => row.constructor)(value)', 1, 13, /`constructor`/],
  ['value[("__proto__")]', 1, 7, /`__proto__`/],
  ['helpers[`prototype`]', 1, 9, /`prototype`/],
  ['({__proto__: row})', 1, 3, /`__proto__`/],
  ['({constructor}) => constructor', 1, 3, /`constructor`/],
  ['process.env', 1, 1, /`process` is not known/],
  ['globalThis', 1, 1, /not known/],
  ['arguments', 1, 1, /not known/],
  ['eval("1")', 1, 1, /not known/],
  ['Last_Name', 1, 1, /row\.Last_Name/],
  ['trim(row.a)', 1, 1, /helpers\.trim/],
  ['helpers.trimm(row.a)', 1, 9, /no function `trimm`/],
  ['crm.rank(row.a)', 1, 5, /it has score, grade/],
  ['row.a +', 1, 8, /Unexpected/],
  ['row.a ++ row.b', 1, 10, /Unexpected/],
  ['"abc', 1, 1, /Unterminated/],
  ['row.a @ 1', 1, 7, /Unexpected character/],
  ['/(/.test(row.a)', 1, 2, /regular expression/],
  ['row.ä\n  + 😀', 2, 5, /Unexpected character/],
  ['', 1, 1, /empty/],
  [' \n ', 1, 1, /empty/],
  ['1) + (2', 1, 2, /Unexpected `\)`/],
  ['1 /* row.a', 1, 3, /Unterminated comment/],
  ['1 // )', 0, 0, /^$/],
]

test('a forbidden construct is refused with its position and an alternative', t => {
  for (const [source, line, column, says] of refusals) {
    const result = parseExpression(source, {namespaces})
    if (!line) t.true(result.ok, source)
    else if (result.ok) t.fail(`passed: ${source}`)
    else {
      t.like(result.problem, {line, column}, `${source}: ${result.problem.message}`)
      t.regex(result.problem.message, says, source)
    }
  }
})

test('a source is limited in length and depth', t => {
  t.false(parseExpression('1'.repeat(LIMITS.sourceChars + 1)).ok)
  t.true(parseExpression(`${'1 + '.repeat(LIMITS.sourceDepth - 2)}1`).ok)
  for (const depth of [LIMITS.sourceDepth + 1, 1000, 4900])
    t.like(parseExpression(`${'('.repeat(depth)}1${')'.repeat(depth)}`), {ok: false, problem: {code: 'EXPRESSION_SYNTAX'}}, String(depth))
})
