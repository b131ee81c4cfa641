import test from 'ava'
import {chatMessageOf} from '../../../shared/notifications/chat-message.ts'
import {writeLetter} from '../../../shared/notifications/letter.ts'
import {countsOf, detailsOf, pagesOf, sentenceOf} from '../../../shared/notifications/notice-text.ts'

// The types of the widget are not part of the tests' program.
const {findPage} = await import(new URL('../../../api/clients/widget/pages.ts', import.meta.url).href)
const publicUrl = 'https://lading.example/'
const run = {import: 'imp_1', run: 'run_1', dryRun: false}
const scheduled = {template: 'tpl_1', schedule: 'sch_1'}

const cases: [type: string, data: object, pages: Record<string, string>][] = [
  ['run.ended', run, {run: 'imports/imp_1/run?run=run_1', import: 'imports/imp_1'}],
  ['run.ended', {...run, dryRun: true}, {run: 'imports/imp_1/review?run=run_1', import: 'imports/imp_1'}],
  ['run.ended', {...run, dryRun: true, undo: {}}, {run: 'imports/imp_1/run?run=run_1', import: 'imports/imp_1'}],
  ['run.ended', {run: 'run_1', import: null}, {}],
  ['plan.waiting', {import: 'imp_1', run: 'run_1'}, {run: 'imports/imp_1/review?run=run_1', import: 'imports/imp_1'}],
  ['schedule.failed', scheduled, {schedule: 'templates/tpl_1/schedules/sch_1', template: 'templates/tpl_1'}],
  ['webhook.disabled', {endpoint: 'whk_1'}, {endpoint: 'settings/notices'}],
  ['usage.rows', {percent: 80}, {planPage: 'settings/plan'}],
  ['billing.payment_failed', {invoice: 'in_1'}, {planPage: 'settings/plan'}],
]

test('e-mails and chat messages link to pages of the widget, and leave out what has no page', t => {
  for (const [type, about, pages] of cases) {
    const data = {org: 'org_1', ...about, links: {run: 'https://lading.example/orgs/org_1/runs/run_1'}}
    const body = {type, timestamp: '', data}
    const urls = Object.entries(pages).map(([name, path]) => [name, `https://lading.example/#/${path}`])
    for (const path of Object.values(pages)) t.truthy(findPage(path.split('?')[0]!.split('/')), path)
    t.deepEqual(pagesOf(body, publicUrl), urls as [string, string][], type)
    const {text} = writeLetter({orgName: 'Org', body, publicUrl})
    for (const [, url] of urls) t.true(text.includes(`: ${url}\n`), text)
    for (const sent of [text, ...(['slack', 'teams'] as const).map(kind => JSON.stringify(chatMessageOf(kind, body, publicUrl)))])
      t.false(sent.includes('/orgs/'), sent)
  }
})

const sentence = (type: string, data: object) => sentenceOf({type, timestamp: '', data: {...data}})

test('the notice of an undo counts restored, deleted and kept rows once, and its modules say how many were undone', t => {
  const counts = {Leads: {created: 0, updated: 8, failed: 1, skipped: 2}, Accounts: {updated: 2}}
  const data = {counts, deleted: 3, undo: {restored: 7, deleted: 3, changedSince: 1, strict: true}}
  t.is(sentence('run.undone', data), 'The undo of a run has ended: 7 restored, 3 deleted, 2 kept')
  t.is(sentence('run.undone', {...data, stop: 'CANCELLED'}), 'The undo of a run was cancelled: 7 restored, 3 deleted, 2 kept')
  t.deepEqual(countsOf(data), ['Leads: 1 failed, 2 skipped, 8 undone', 'Accounts: 2 undone'])
  t.deepEqual(countsOf({...data, undo: null}), ['Leads: 1 failed, 2 skipped, 8 deleted', 'Accounts: 2 deleted'])
})

test('the notice of a run that was deleted since says so, and not that nothing was written', t => {
  const about = {org: 'org_1', run: 'run_1', dryRun: false}
  t.is(sentence('run.ended', about), 'An import has ended and was later deleted')
  t.is(sentence('run.ended', {...about, dryRun: true}), 'A dry run has ended and was later deleted')
  t.is(sentence('run.undone', about), 'The undo of a run has ended and was later deleted')
  t.is(sentence('run.held', about), 'An import was held, because too many of its rows ended badly, and was later deleted')
  t.regex(sentence('run.held', {...about, counts: {}}), /Resume or cancel it$/)
  t.is(sentence('run.ended', {...about, counts: {}}), 'An import has ended and wrote nothing: no rows')
})

test('amounts of money are written in whole units with their currency', t => {
  t.deepEqual(detailsOf({invoice: 'in_1', attempt: 1, amount: 4900, currency: 'eur'}), [
    ['invoice', 'in_1'],
    ['attempt', '1'],
    ['amount', '49.00 EUR'],
  ])
  t.deepEqual(detailsOf({refunded: 1000, amount: 4905, currency: 'jpy'}), [
    ['refunded', '1000 JPY'],
    ['amount', '4905 JPY'],
  ])
  t.deepEqual(detailsOf({amount: 1_990_000, currency: 'huf'}), [['amount', '19900.00 HUF']])
})

test('a failed payment for AI credits is announced as such, without an invoice to pay', t => {
  t.is(sentence('billing.payment_failed', {of: 'credit_pack'}), 'A payment for AI credits failed. Buy the pack again')
  t.is(sentence('billing.payment_failed', {invoice: 'in_1'}), 'A payment for the plan failed. Pay the invoice or change the card')
})
