import {readFileSync} from 'node:fs'
import test from 'ava'
import {openHome, shownBy} from '../support/cli-process.ts'
import {openCompanies} from '../support/companies.ts'
import {type Org, ok} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let house: TestDeployment
let org: Org
let home: ReturnType<typeof openHome>

test.before(async t => {
  house = await startTestDeployment(t, {workers: ['imports', 'discovery', 'checks']})
  const opened = await openCompanies(house)
  org = opened.org
  home = openHome({LADING_URL: house.url, LADING_TOKEN: opened.secret})
})

const recordsOf = (module: string, field: string, prefix: string) =>
  house.crm.records('example', module).filter(record => String(record[field] ?? '').startsWith(prefix)) as Record<string, unknown>[]
const importsNamed = async (name: string) =>
  (await ok(org.call('GET', `/orgs/${org.org}/imports?limit=200`), 200)).imports.filter((one: any) => one.name === name)

/** Returns the text of a terminal without the moves of the cursor around a question. */
const textOf = (shown: string) => shownBy(shown.replaceAll(cursorMove, ''))
const cursorMove = new RegExp(`${String.fromCharCode(27)}\\[\\d*[A-HJK]`, 'g')

const people = (prefix: string, city = 'Bern') =>
  `First Name,Last Name,E-mail,City,Shoe size\n${['Ana', 'Ben', 'Cleo'].map(name => `${name},Ruiz,${prefix}${name}@example.org,${city},4`).join('\n')}\n`

test('a file is imported with the proposals of the matcher, and a second time it updates the same records', async t => {
  const path = home.put('fair.csv', people('fair-'))
  const first = await home.run(['import', path, '--module', 'Leads', '--match', 'Email', '--watch'])
  t.is(first.code, 0, first.err)
  t.regex(first.err, /fair\.csv into Leads, 3 rows:\n {2}First Name {2}First Name {2}\d+ %\n/)
  t.regex(first.err, /\nNot imported: Shoe size\nExisting records with the same Email are updated\n/)
  t.like(recordsOf('Leads', 'Email', 'fair-')[0], {First_Name: 'Ana', Last_Name: 'Ruiz', City: 'Bern'})
  const changed = home.put('fair2.csv', people('fair-', 'Basel'))
  const second = await home.run(['import', changed, '-m', 'lead', '--yes', '--watch'])
  t.is(second.code, 0, second.err)
  const records = recordsOf('Leads', 'Email', 'fair-')
  t.deepEqual(
    records.map(({City}) => City),
    ['Basel', 'Basel', 'Basel'],
    'the recommended match is taken, and no record is created',
  )
  const third = home.put('fair3.csv', people('fair-', 'Chur'))
  const kept = await home.run(['import', third, '-m', 'Leads', '--match', 'email', '--existing', 'skip', '--watch'])
  t.is(kept.code, 0, kept.err)
  t.is(recordsOf('Leads', 'Email', 'fair-')[0]!.City, 'Basel')
})

test('--existing alone changes what happens to matched records, but not the match of the settings of the module', async t => {
  const modules = `/orgs/${org.org}/config/modules/Accounts`
  await ok(org.call('PATCH', modules, {match: {by: ['Account_Number'], onOne: 'update'}}), 200)
  const path = home.put('numbers.csv', 'Account Name,Account Number\nFirm,Match-1\n')
  for (const more of [['--yes'], []]) {
    const {code, out, err} = await home.run(['map', path, '--module', 'Accounts', '--existing', 'skip', ...more])
    t.is(code, 0, err)
    t.like(JSON.parse(out).match, {by: ['Account_Number'], onOne: 'skip'})
  }
})

test('without a terminal, a missing answer is refused before the upload with the option that gives it', async t => {
  const path = home.put('pipe.csv', people('pipe-'))
  const refused = async (words: string[], says: RegExp) => {
    const {code, err} = await home.run(['import', path, ...words])
    t.is(code, 4, err)
    t.regex(err, says)
    t.deepEqual(await importsNamed('pipe.csv'), [])
  }
  await refused([], /^Error: No template, flows or module given\nAdd --module NAME/)
  await refused(['--module', 'Leads'], /^Error: What should happen to existing records\?\nAdd --match Email .*, or --match none/)
  await refused(['--module', 'Leads', '--match', 'Mail'], /^Error: Leads has no field Mail\n/)
  await refused(['--module', 'Leads', '--template', 'Companies'], /^Error: Use only one of --template, --flow and --module/)
  const unknown = await home.run(['import', path, '--module', 'Leeds', '--json'])
  t.like(JSON.parse(unknown.err), {code: 'MODULE_NOT_FOUND', exit: 7})
  const noKey = home.put('nokey.csv', 'Company,City\nA,Bern\n')
  const missing = await home.run(['import', noKey, '--module', 'Leads', '--match', 'none'])
  t.is(missing.code, 4)
  t.regex(missing.err, /No column fits the required Last Name of Leads\nWrite the mapping to a file with `lading map FILE --module Leads`/)
  t.deepEqual(await importsNamed('nokey.csv'), [], 'nothing is left behind')
})

test('dates whose order the file does not show are imported only with --dates', async t => {
  const path = home.put('born.csv', 'Last Name,Date of Birth\nDate-A,02/06/1990\nDate-B,03/07/1991\n')
  const words = ['import', path, '--module', 'Contacts', '--match', 'none', '--watch']
  const asked = await home.run(words)
  t.is(asked.code, 4, asked.out)
  t.regex(asked.err, /Error: The dates of Date of Birth can be read in several orders, such as 02\/06\/1990\nAdd --dates dmy/)
  const beside = home.put('beside.csv', 'Last Name,Date of Birth\nIso-A,1990-05-06\nIso-B,02/06/1990\n')
  const {err: mixed} = await home.run(['import', beside, ...words.slice(2)])
  t.regex(mixed, /in several orders, such as 02\/06\/1990\n/, 'an ISO date is no example')
  t.deepEqual(recordsOf('Contacts', 'Last_Name', 'Date-'), [])
  t.deepEqual(await importsNamed('born.csv'), [])
  const {code, err} = await home.run([...words, '--dates', 'mdy'])
  t.is(code, 0, err)
  t.deepEqual(
    recordsOf('Contacts', 'Last_Name', 'Date-').map(record => record.Date_of_Birth),
    ['1990-02-06', '1991-03-07'],
  )
})

test('a terminal is asked for the module, existing records and dates, and nothing is imported without a yes', async t => {
  const path = home.put('contacts.csv', 'Last Name,E-mail,Date of Birth\nAsk-A,ask-a@example.org,02/06/1990\n')
  const answer = async (answers: [RegExp, string][]) => {
    const started = home.start(['import', path, '--watch'], {columns: 100})
    for (const [prompt, text] of answers) {
      await until(started.out, shown => prompt.test(textOf(shown)))
      started.child.stdin!.write(`${text}\r`)
    }
    const ended = await started.ended
    return {...ended, out: textOf(ended.out)}
  }
  const questions: [RegExp, string][] = [
    [/Import into which module\?\n +1 {2}Contacts\n(.*\n)+Choose 1 to \d+ \[1\]: $/, ''],
    [/existing records in Contacts\?\n +1 {2}Update records with the same Email \(recommended\)\n(.*\n)+Choose 1 to \d+ \[1\]: $/, ''],
    [/How are the dates of Date of Birth written, such as 02\/06\/1990\?\n(.*\n)+Choose 1 to 2: $/, ''],
    [/(Choose 1 to 2: [^:]*){2}$/, 'Day, month, year'],
  ]
  const declined = await answer([...questions, [/Import 1 row\? \[Y\/n\] $/, 'n']])
  t.is(declined.code, 130, declined.out)
  t.regex(declined.out, /Error: Nothing was imported/)
  t.deepEqual([recordsOf('Contacts', 'Last_Name', 'Ask-').length, (await importsNamed('contacts.csv')).length], [0, 0])
  const accepted = await answer([...questions, [/Import 1 row\? \[Y\/n\] $/, '']])
  t.is(accepted.code, 0, accepted.out)
  t.regex(accepted.out, /Contacts: 1 created/)
  t.is(recordsOf('Contacts', 'Last_Name', 'Ask-')[0]!.Date_of_Birth, '1990-06-02')
})

test('answers that are typed ahead are used for the questions in their order', async t => {
  const path = home.put('ahead.csv', 'Last Name,E-mail,Date of Birth\nAhead-A,ahead-a@example.org,02/06/1990\n')
  const started = home.start(['import', path, '--watch'], {columns: 100})
  await until(started.out, shown => /Import into which module\?/.test(textOf(shown)))
  started.child.stdin!.write('Contacts\r1\r1\ry\r')
  const {code, out} = await started.ended
  t.is(code, 0, textOf(out))
  t.is(recordsOf('Contacts', 'Last_Name', 'Ahead-')[0]!.Date_of_Birth, '1990-06-02')
})

test('the mapping of a file is written as a flow that imports it, and its upload is deleted', async t => {
  const path = home.put('mapped.csv', people('map-'))
  const {code, out, err} = await home.run(['map', path, '--module', 'Leads', '--match', 'Email'])
  t.is(code, 0, err)
  t.like(JSON.parse(out), {module: 'Leads', match: {by: ['Email'], onOne: 'update'}})
  t.deepEqual(await importsNamed('mapped.csv'), [])
  home.put('flow.json', out)
  const run = await home.run(['import', path, '--flow', 'flow.json', '--watch'])
  t.is(run.code, 0, run.err)
  t.is(recordsOf('Leads', 'Email', 'map-').length, 3)
})

test('a field that a seed mapping skips is not mapped, although a proposal and the default mapping of the field name it', async t => {
  const config = `/orgs/${org.org}/config`
  await ok(org.call('PATCH', `${config}/modules/Contacts`, {seedMappings: [{field: 'Mailing_City', skip: true}]}), 200)
  await ok(org.call('PATCH', `${config}/fields/Contacts/Mailing_City`, {defaultMapping: {mode: 'static', staticValue: 'Bern'}}), 200)
  const path = home.put('seeds.csv', 'Last Name,Mailing City\nSeed-A,Chur\n')
  const {code, out, err} = await home.run(['map', path, '--module', 'Contacts', '--match', 'none'])
  t.is(code, 0, err)
  t.deepEqual(
    JSON.parse(out).fields.filter(({field}: any) => field === 'Mailing_City'),
    [{field: 'Mailing_City', mode: 'skip'}],
  )
})

test('flows that do not fit the CRM are refused before a file is uploaded, and a refused file leaves no import', async t => {
  const path = home.put('unfit.csv', people('unfit-'))
  const flow = {module: 'Leads', fields: [{field: 'Last_Nam', mode: 'column', source: 'Last Name'}]}
  home.put('unfit.json', JSON.stringify(flow))
  const {code, err} = await home.run(['import', path, '--flow', 'unfit.json'])
  t.is(code, 7)
  t.regex(err, /\(INVALID\)\n {2}0\.fields\.0\.field: Leads has no field Last_Nam\n/)
  t.false(err.includes('unfit.csv: '), 'nothing was uploaded')
  const picture = home.put('picture.csv', readFileSync(new URL('../browser/pictures/mapping.png', import.meta.url)))
  t.is((await home.run(['import', picture, '-t', 'Companies'])).code, 7)
  t.is((await home.run(['map', picture, '-m', 'Leads', '--match', 'none'])).code, 7)
  t.deepEqual([await importsNamed('unfit.csv'), await importsNamed('picture.csv')], [[], []])
})
