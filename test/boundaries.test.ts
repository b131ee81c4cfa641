import {globSync, readFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import test from 'ava'
import {fileLines, findCycles, functionLines, handlerLines, parse, type Rule, rules, type Source} from './boundary-rules.ts'

const check = (rule: Rule, sources: Source[]) =>
  sources.flatMap(source =>
    rule(source).map(
      ({at, says}) => `${source.path}:${source.tree.getLineAndCharacterOfPosition(at.getStart(source.tree)).line + 1} ${says}`,
    ),
  )

const lines = (count: number) => 'call()\n'.repeat(count)

/** For each rule, sources that break it, and similar sources that do not. */
const trials: Record<keyof typeof rules, {wrong: [path: string, text: string][]; fine: [path: string, text: string][]}> = {
  importDirection: {
    wrong: [
      ['api/a.ts', `import {b} from '../workers/b.ts'`],
      ['workers/a.ts', `import type {B} from '../api/b.ts'`],
      ['shared/deep/a.ts', `export * from '../../api/b.ts'`],
      ['shared/a.ts', `type B = import('../workers/b.ts').B`],
      ['sql/a.ts', `const b = await import('../shared/b.ts')`],
      ['api/c.ts', `import {world} from '../test/world.ts'`],
      ['shared/b.ts', `import x from '../../elsewhere.ts'`],
    ],
    fine: [
      ['api/a.ts', `import {b} from '../shared/b.ts'\nimport {c} from './routes/c.ts'\nimport Koa from 'koa'`],
      ['test/a.ts', `import {b} from '../workers/b.ts'`],
    ],
  },
  clientsAlone: {
    wrong: [
      ['api/clients/a.ts', `import {routes} from '../app.ts'`],
      ['api/clients/b.ts', `import {createPool} from 'slonik'`],
    ],
    fine: [['api/clients/a.ts', `import type {Run} from '../../shared/run.ts'\nimport {call} from './http.ts'\nimport fs from 'node:fs'`]],
  },
  sqlText: {
    wrong: [
      ['api/a.ts', 'const a = sql.type(Row)`select 1`'],
      ['shared/a.ts', 'db.query("Insert into runs values (1)")'],
      ['workers/a.ts', `const a = \`\\n  update runs set state = \${b}\``],
      ['shared/b.ts', `const a = 'select id, name\\n from runs'`],
      ['shared/crm/a.ts', `const a = 'delete from runs'`],
      ['api/b.ts', `import pg from 'pg'`],
    ],
    fine: [
      ['shared/a.ts', `import type {Pool} from 'slonik'\nconst onOne = 'update', says = 'Update the record, or create one'`],
      ['shared/crm/a.ts', `const coql = \`select id from \${module} where id in (1)\``],
      ['sql/a.ts', 'const a = sql.type(Row)`select 1`'],
    ],
  },
  environment: {
    wrong: [
      ['api/a.ts', 'const a = process.env.PORT'],
      ['api/b.ts', `const a = process['env']`],
      ['test/c.ts', 'const {env} = process; spawn(program, {env: {...env}})'],
      ['shared/a.ts', 'const all = {...process.env}'],
      ['sql/a.ts', `import {env} from 'node:process'`],
    ],
    fine: [
      ['shared/config.ts', 'const a = process.env'],
      ['api/clients/cli/settings.ts', 'const a = process.env'],
      ['test/stack/a.ts', 'const a = process.env'],
      ['api/a.ts', 'process.exitCode = 1; const {pid} = process'],
      ['test/a.ts', 'spawn(program, {env: {...process.env, PORT: 1}})'],
    ],
  },
  queueOwner: {
    wrong: [['api/a.ts', `import type {Job} from 'pg-boss'`]],
    fine: [['workers/a.ts', `import {PgBoss} from 'pg-boss'`]],
  },
  outboundCalls: {
    wrong: [
      ['api/a.ts', `await fetch('https://example.org')`],
      ['workers/a.ts', `import {request} from 'undici'`],
      ['shared/a.ts', `import http, {request} from 'node:http'`],
      ['shared/b.ts', `import http from 'node:http'\nhttp.get('http://example.org')`],
      ['shared/crmish.ts', 'new WebSocket(url)'],
    ],
    fine: [
      ['shared/crm/call.ts', `import {request} from 'undici'`],
      ['api/server.ts', `import {createServer} from 'node:http'\nconst a = row.fetch()`],
    ],
  },
  budgets: {
    wrong: [
      ['shared/a.ts', lines(fileLines + 1)],
      ['shared/b.ts', `const a = () => {\n${lines(functionLines - 1)}}`],
      ['api/routes/a.ts', `export default [route({async handle() {\n${lines(handlerLines - 1)}}})]`],
      ['api/routes/b.ts', `export default [route({handle: async () => {\n${lines(handlerLines - 1)}}})]`],
    ],
    fine: [
      ['shared/a.ts', lines(fileLines)],
      ['shared/b.ts', `const a = () => {\n${lines(functionLines - 2)}}`],
      ['api/routes/a.ts', `export default [route({async handle() {\n${lines(handlerLines - 2)}}})]`],
    ],
  },
  honestTests: {
    wrong: ['only', 'skip', 'serial.todo', 'failing'].map(excuse => ['test/a.test.ts', `test.${excuse}('a', t => t.pass())`]),
    fine: [['test/a.test.ts', `test.before(async () => {})\ntest('a', t => t.pass())`]],
  },
  slowPatterns: {
    wrong: ['(a+)+$', '\\s+$', '^(\\w+\\s?)*!', '^\\d*[\\d.]*$', '\\[[^\\]]*\\]', '(?:a|a)*b'].map(pattern => [
      'shared/a.ts',
      `const a = /${pattern}/`,
    ]),
    fine: [
      ...['^a+$', '(?<!0)0+$', '\\[[^[\\]]*\\]', '^(\\d+)\\.(\\d+)$'].map((pattern): [string, string] => [
        'shared/a.ts',
        `const a = /${pattern}/`,
      ]),
      ['test/a.ts', 'const a = /(a+)+$/'],
    ],
  },
  secretComparisons: {
    wrong: [
      ['shared/a.ts', 'if (given.secret === kept) open()'],
      ['api/a.ts', 'const a = expected !== request.headers.signature'],
      ['workers/a.ts', 'while (sha256.digest == other) {}'],
    ],
    fine: [
      [
        'shared/a.ts',
        `if (secret !== undefined && typeof token === 'string' && timingSafeEqual(digest, other) && kind === 'password') open()`,
      ],
      ['test/a.ts', 'if (secret === other) t.pass()'],
    ],
  },
  checkedTypes: {wrong: [['shared/a.ts', `// @${'ts'}-ignore\nconst a = 1`]], fine: [['shared/a.ts', '// plain words']]},
}

const root = fileURLToPath(new URL('..', import.meta.url))
const paths = globSync('{api,workers,shared,sql,test}/**/*.ts', {cwd: root})
const sources = parse(paths.map(path => [path, readFileSync(`${root}/${path}`, 'utf8')]))
const tried = parse(Object.values(trials).flatMap(({wrong, fine}) => [...wrong, ...fine]))

for (const [name, rule] of Object.entries(rules)) {
  const {wrong, fine} = trials[name as keyof typeof rules]
  const parsedOf = (trial: [path: string, text: string]) => tried.find(({path, tree}) => path === trial[0] && tree.text === trial[1])!
  test(`${name} holds for the repository`, t => t.deepEqual(check(rule, sources), []))
  test(`${name} finds every source that breaks it, and no other`, t => {
    for (const trial of wrong) t.not(check(rule, [parsedOf(trial)]).length, 0, trial.join(': '))
    t.deepEqual(check(rule, fine.map(parsedOf)), [])
  })
}

test('no source files import each other in a cycle', t =>
  t.deepEqual(findCycles(sources.filter(({path}) => !path.startsWith('test/'))), []))

test('an import cycle of any length is found, except through type imports or lazy imports', t => {
  const circle = parse([
    ['shared/a.ts', `import {b} from './b.ts'\nexport * from './d.ts'`],
    ['shared/b.ts', `import {c} from './c.ts'`],
    ['shared/c.ts', `import {a} from './a.ts'`],
    ['shared/d.ts', `import type {a} from './a.ts'\nconst b = await import('./a.ts')`],
  ])
  t.deepEqual(findCycles(circle), [['shared/a.ts', 'shared/b.ts', 'shared/c.ts']])
})
