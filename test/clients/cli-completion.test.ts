import test from 'ava'
import {cliPath, openHome} from '../support/cli-process.ts'
import {openCompanies} from '../support/companies.ts'
import {type Org, ok} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
let org: Org
let home: ReturnType<typeof openHome>
test.before(async t => {
  house = await startTestDeployment(t, {workers: ['discovery']})
  const companies = await openCompanies(house)
  org = companies.org
  home = openHome({LADING_URL: house.url, LADING_TOKEN: companies.secret})
  for (const name of ['Lisbon fair', 'Lyon fair'])
    await ok(org.call('POST', `/orgs/${org.org}/imports`, {name, connectorId: org.connector}), 201)
})

/** Completes the last word in bash, and returns the words that bash would insert. */
const complete = async (...words: string[]) => {
  const {out: script} = await home.run(['completion', 'bash'])
  const given = words.map(word => `'${word}'`).join(' ')
  const lading = `lading() { '${process.execPath}' '${cliPath}' "$@"; }`
  const commands = `${lading}; source <(cat); COMP_WORDS=(lading ${given}); COMP_CWORD=${words.length}; _lading; printf '%s\\n' "\${COMPREPLY[@]}"`
  const {out, err} = await home.run(['-c', commands], {command: ['bash'], input: script})
  if (err) throw new Error(err)
  return out.split('\n').filter(Boolean)
}
test('bash completes the names of templates, connections, modules and imports, and escapes their blanks', async t => {
  t.deepEqual(await complete('import', 'x.csv', '--template', 'C'), ['Companies'])
  t.deepEqual(await complete('templates', 'show', ''), ['Companies'])
  t.deepEqual(await complete('import', 'x.csv', '-m', 'Acc'), ['Accounts'])
  t.deepEqual(await complete('import', 'x.csv', '--connection', ''), ['Example\\ CRM'])
  t.deepEqual(await complete('run', 'L'), ['Lisbon\\ fair', 'Lyon\\ fair'])
  t.deepEqual(await complete('run', 'Lisbon\\ f'), ['Lisbon\\ fair'])
})

test('without a session or a server, nothing is completed and no error is shown', async t => {
  for (const env of [{LADING_TOKEN: ''}, {LADING_URL: 'http://127.0.0.1:9'}]) {
    const started = performance.now()
    const {out, err, code} = await home.run(['completion', 'bash', '--values', 'templates'], {env})
    t.deepEqual([out.trim(), err, code], ['', '', 0])
    t.true(performance.now() - started < 20_000)
  }
})
