import assert from 'node:assert/strict'
import {test} from 'node:test'
import {ok, openOrg, untilEnded} from '../support/importing.ts'
import {csvOf} from './people.ts'
import {enter, settled, stage, type Visitor} from './stage.ts'

const here = stage('browser strange')

const image = '<img src=x onerror="globalThis.ran=1">'
const script = '"><script>globalThis.ran=2</script>'
const formula = '=HYPERLINK("https://evil.example/","click")'
const rows = [
  ['Harbour Foods', 'S-1', image, formula],
  [image, 'S-2', script, formula],
  [`javascript:globalThis.ran=3//${'x'.repeat(220)}`, 'S-3', formula, image],
]

test('hostile text from a file is shown as text on every page', async () => {
  const org = await openOrg(here.world)
  const {path, id} = await importOf(org)
  for (const dryRun of [true, false]) {
    const {run} = await ok(org.call('POST', `${path}/runs`, {dryRun}), 202)
    await untilEnded(org.call, `${path}/runs/${run.id}`)
  }
  await ok(org.call('POST', `${path}/checks`, {}, {prefer: 'wait=30'}), 200)
  const visitor = await here.open()
  await enter(visitor, org.session)
  const seen = async (address: string, awaited: string, ...wanted: string[]) => {
    await visitor.page.goto(`${here.world.url}/#${address}`)
    await visitor.page.locator(`main ${awaited}`).first().waitFor()
    await settled(visitor.page)
    await assertText(visitor, address, wanted)
  }
  await seen('/imports', 'table', image)
  await seen(`/imports/${id}/match?field=Billing_City`, '.results li', image, formula, script)
  await seen(`/imports/${id}/review`, '.review-rows', image, formula)
  await seen(`/imports/${id}/results`, '.rows-table', image)
  await visitor.page.getByRole('button', {name: 'Row 1, show details'}).click()
  await visitor.page.locator('.row-cells').waitFor()
  await assertText(visitor, 'a row', [image, formula])
  assert.deepEqual(visitor.complaints, [])
})

const importOf = async ({call, org, connector}: Awaited<ReturnType<typeof openOrg>>) => {
  const {import: made} = await ok(call('POST', `/orgs/${org}/imports`, {name: image, connectorId: connector}), 201)
  const path = `/orgs/${org}/imports/${made.id}`
  const heads = ['name', 'number', image, 'note']
  const upload = call('POST', `${path}/sources?name=${encodeURIComponent(`${image}.csv`)}`, csvOf([heads, ...rows]), {
    'content-type': 'text/csv',
  })
  const {source} = await ok(upload, 201)
  const fields = [
    {field: 'Account_Name', mode: 'column', source: 'name'},
    {field: 'Account_Number', mode: 'column', source: 'number'},
    {field: 'Billing_City', mode: 'expression', transform: `row[${JSON.stringify(image)}]`},
    {field: 'Industry', mode: 'expression', transform: `row['number'] === 'S-1' ? 'Food' : row[${JSON.stringify(image)}]`},
    {field: 'Description', mode: 'column', source: 'note'},
  ]
  await ok(call('PUT', `${path}/flows`, [{id: 'f', sourceId: source.id, module: 'Accounts', fields}]), 200)
  return {path, id: made.id as string}
}

const assertText = async ({page}: Visitor, where: string, wanted: string[]) => {
  const {text, made} = await page.evaluate(() => {
    const {document, ran} = globalThis as any
    return {
      text: document.body.innerText as string,
      made: [ran, document.querySelector('main img, main script, a[href*="evil"], a[href^="javascript"]')?.outerHTML],
    }
  })
  assert.deepEqual(made.filter(Boolean), [], `nothing of it is markup on ${where}`)
  for (const one of wanted) assert.ok(text.includes(one), `${where} shows ${one}`)
}

test("the page's policy restricts scripts and forbids framing", async () => {
  const {headers} = await fetch(`${here.world.url}/`)
  const policy = new Map(
    headers
      .get('content-security-policy')!
      .split('; ')
      .map(directive => directive.split(/ (.*)/) as [string, string]),
  )
  assert.equal(policy.get('default-src'), "'none'")
  assert.match(policy.get('script-src')!, /^'self' 'sha256-[\w+/]{43}='$/)
  assert.deepEqual(
    ['style-src', 'connect-src', 'base-uri', 'form-action', 'frame-ancestors', 'require-trusted-types-for', 'trusted-types'].map(name =>
      policy.get(name),
    ),
    ["'self'", "'self'", "'none'", "'none'", "'none'", "'script'", "'none'"],
  )
  assert.equal(headers.get('x-content-type-options'), 'nosniff')
  assert.match(headers.get('referrer-policy')!, /^(no-referrer|same-origin)/)
})
