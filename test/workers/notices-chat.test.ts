import test from 'ava'
import {type Receiver, startReceiver} from '../simulators/receiver.ts'
import {accountRows, accounts, ok, openOrg, runImport} from '../support/importing.ts'
import {openNoticing, untilDeliveries} from '../support/notices.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let house: TestDeployment
let receiver: Receiver

test.before(async t => {
  receiver = await startReceiver()
  house = await startTestDeployment(t, {workers: ['notices', 'imports', 'discovery'], environment: {PRIVATE_HOSTS: receiver.place}})
})
test.after.always(() => receiver.stop())

const arrived = async (path: string) =>
  (
    await until(
      () => receiver.at(path),
      all => all.length === 1,
    )
  )[0]!

/** A value that would mention, link, format or compute, if a product read it as markup. */
const hostile =
  '<!channel> <@U0123> <http://evil.example|ok> [ok](http://evil.example) *b* :tada: <at>Ann</at> {{DATE(2026-01-01T00:00:00Z)}} & \n x'
const hostileNotice = {about: {code: hostile, error: '<'.repeat(9_000), reason: '\u{1f600}'.repeat(4_000)}}
const many = Object.fromEntries(Array.from({length: 60}, (_, n) => [`value${n}`, '"漢'.repeat(400)]))

/** Returns every string of a JSON value. */
const stringsOf = (value: unknown): string[] => {
  if (typeof value === 'string') return [value]
  return value !== null && typeof value === 'object' ? Object.values(value).flatMap(stringsOf) : []
}

/** Returns the problems of a Slack message by Slack's documents: what Slack refuses, or reads as more than text. */
const assertSlackMessage = (body: string) => {
  const {text, blocks, ...rest} = JSON.parse(body)
  const problems: string[] = []
  if (JSON.stringify(rest) !== '{"mrkdwn":false,"unfurl_links":false}') problems.push('other settings')
  if (blocks.length > 50) problems.push('blocks')
  for (const {type, text: shown, fields} of blocks) {
    if (type !== 'section') problems.push(type)
    if (shown && (shown.text.length === 0 || shown.text.length > 3_000)) problems.push('section text')
    if (fields && (fields.length === 0 || fields.length > 10)) problems.push('number of fields')
    for (const field of fields ?? []) if (field.text.length === 0 || field.text.length > 2_000) problems.push('field text')
    for (const plain of [...(fields ?? []), ...(shown?.type === 'plain_text' ? [shown] : [])])
      if (plain.type !== 'plain_text' || plain.emoji !== false || /[<>]|&(?!(amp|lt|gt);)/.test(plain.text)) problems.push(plain.text)
  }
  if (/[<>]|&(?!(amp|lt|gt);)/.test(text)) problems.push(text)
  return problems
}

test('a Slack endpoint gets text and blocks without a signature, with counts and pages of the run', async t => {
  const org = await openOrg(house)
  await ok(org.call('POST', `/orgs/${org.org}/webhooks`, {kind: 'slack', url: receiver.url('/slack/run'), events: ['run.ended']}), 201)
  const {run, path} = await runImport(org, {csv: accountRows(3, 'CANARY-'), flow: accounts})
  const {headers, body} = await arrived('/slack/run')
  t.is(headers['content-type'], 'application/json')
  t.deepEqual(
    Object.keys(headers).filter(name => name.startsWith('webhook-')),
    [],
  )
  t.deepEqual(assertSlackMessage(body), [])
  const {text, blocks} = JSON.parse(body)
  t.is(text, 'An import is complete: 3 created.')
  t.is(blocks[0].text.text, text)
  t.true(blocks[1].fields.some((field: {text: string}) => field.text === 'Rows: Accounts: 3 created'))
  t.true(blocks[2].text.text.includes(`<${house.config.PUBLIC_URL}/#${path.replace(`/orgs/${org.org}`, '')}/run?run=${run.id}|Run>`))
  t.false(body.includes('CANARY'))
})

test('a Teams endpoint gets an Adaptive Card without a signature, with counts and pages of the run', async t => {
  const org = await openOrg(house, 'zoe@other.example')
  await ok(org.call('POST', `/orgs/${org.org}/webhooks`, {kind: 'teams', url: receiver.url('/teams/run'), events: ['run.ended']}), 201)
  const {run, path} = await runImport(org, {csv: accountRows(3, 'CANARY-'), flow: accounts})
  const {headers, body} = await arrived('/teams/run')
  t.is(headers['webhook-signature'], undefined)
  const {type, attachments, ...rest} = JSON.parse(body)
  t.deepEqual([type, attachments.length, rest], ['message', 1, {}])
  const [{contentType, contentUrl, content}] = attachments
  t.deepEqual([contentType, contentUrl], ['application/vnd.microsoft.card.adaptive', null])
  t.like(content, {type: 'AdaptiveCard', version: '1.2', actions: [{type: 'Action.OpenUrl'}]})
  t.deepEqual(content.body[0].inlines, [{type: 'TextRun', text: 'An import is complete: 3 created.', weight: 'Bolder'}])
  const link = content.actions.find(({title}: {title: string}) => title === 'Run')
  t.is(link.url, `${house.config.PUBLIC_URL}/#${path.replace(`/orgs/${org.org}`, '')}/run?run=${run.id}`)
  t.false(body.includes('CANARY'))
})

test('values cannot mention, link or format in a chat message, and long notices keep its limits', async t => {
  const org = await openNoticing(house)
  for (const kind of ['slack', 'teams']) await org.addEndpoint(receiver.url(`/${kind}/hostile`), {kind, events: ['schedule.failed']})
  for (const kind of ['slack', 'teams']) await org.addEndpoint(receiver.url(`/${kind}/many`), {kind, events: ['schedule.drifted']})
  await org.say('schedule.failed', hostileNotice)
  await org.say('schedule.drifted', {about: many})
  for (const path of ['/slack/hostile', '/slack/many']) t.deepEqual(assertSlackMessage((await arrived(path)).body), [], path)
  t.true((await arrived('/slack/hostile')).body.includes('Code: &lt;!channel&gt; &lt;@U0123&gt;'))
  for (const path of ['/teams/hostile', '/teams/many']) {
    const {body} = await arrived(path)
    t.true(Buffer.byteLength(body) <= 28 * 1024, `${path}: ${Buffer.byteLength(body)}`)
    const {content} = JSON.parse(body).attachments[0]
    for (const {type, inlines} of content.body) {
      t.is(type, 'RichTextBlock')
      for (const inline of inlines) t.is(inline.type, 'TextRun')
    }
    t.is(content.msteams, undefined, 'no entities, so no mentions')
    for (const text of stringsOf(content)) {
      t.false(text.includes('{{'), text)
      t.true(text.isWellFormed() && !text.includes('\n'))
    }
  }
})

test('a refused chat message is a failed delivery with the answer of the product, and is sent again', async t => {
  const org = await openNoticing(house)
  const {webhook} = await org.addEndpoint(receiver.url('/slack/refused'), {kind: 'slack'})
  receiver.behave('/slack/refused', {status: 400, body: 'invalid_payload'})
  await org.say()
  const [row] = await untilDeliveries(org, ([one]) => one?.error != null)
  t.like(row, {state: 'pending', status: 400, attempts: 1, error: 'The receiver answered 400'})
  receiver.behave('/slack/refused', {status: 200, body: 'ok'})
  const of = `/orgs/${org.org}/webhooks/${webhook.id}`
  const {deliveries} = await ok(org.call('GET', `${of}/deliveries`), 200)
  await ok(org.call('POST', `${of}/deliveries/${deliveries[0].id}/redeliver`, {}), 202)
  await untilDeliveries(org, ([one]) => one?.state === 'delivered')
  const [first, second] = receiver.at('/slack/refused')
  t.is(first!.body, second!.body)
})

test('an endpoint that becomes a Slack endpoint gets messages, and signed notices again as json', async t => {
  const org = await openNoticing(house)
  const {webhook} = await org.addEndpoint(receiver.url('/turned'))
  t.is(webhook.kind, 'json')
  const of = `/orgs/${org.org}/webhooks/${webhook.id}`
  t.is((await org.call('PATCH', of, {kind: 'discord'})).status, 400)
  for (const kind of ['slack', 'json']) {
    t.is((await ok(org.call('PATCH', of, {kind}), 200)).webhook.kind, kind)
    await ok(org.call('POST', `${of}/test`, {}), 202)
    await untilDeliveries(org, all => all.every(({state}) => state === 'delivered'))
  }
  const [slack, json] = receiver.at('/turned')
  t.is(JSON.parse(slack!.body).text, 'This is a test of a webhook endpoint.')
  t.is(JSON.parse(json!.body).type, 'webhook.test')
  t.deepEqual([slack!.headers['webhook-id'], typeof json!.headers['webhook-signature']], [undefined, 'string'])
  const {changes} = await ok(org.call('GET', `/orgs/${org.org}/config/changes?page=notices`), 200)
  t.like(changes[0], {before: {kind: 'slack'}, after: {kind: 'json'}})
})
