import assert from 'node:assert/strict'
import {test} from 'node:test'
import {ok} from '../support/importing.ts'
import {until} from '../support/until.ts'
import {assertAccessible, assertFits, enter, picture, settled, stage} from './stage.ts'

const here = stage('browser plan', undefined, {sells: true, environment: {DEFAULT_PLAN: 'free'}})

/** Creates an owner and opens the plan page. Payments happen on the provider's page, which is not ours. */
const openPlanPage = async (options: Parameters<typeof here.open>[0] = {}) => {
  const owner = await here.world.makeOrg()
  const visitor = await here.open(options)
  await enter(visitor, owner.token)
  await visitor.page.goto(`${here.world.url}/#/settings/plan`)
  await visitor.page.getByRole('heading', {name: 'Choose a plan'}).waitFor()
  return {...visitor, visitor, owner, call: here.world.as(owner.token)}
}

test('a payment is followed until the plan is active, and meanwhile nothing can be bought twice', async () => {
  const {page, visitor, owner, call} = await openPlanPage()
  await page.getByText('Nothing is charged for this plan.').waitFor()
  await page.getByText('Try the larger limits for 14 days.').waitFor()
  await page.getByText('Per year: €300.00, saves €60.00 a year (17%)').waitFor()
  await page.getByLabel('Billing interval').selectOption('year')
  await page.getByText('€300.00 per year').waitFor()
  const {url} = await ok(call('POST', `/orgs/${owner.org}/billing/checkout`, {kind: 'plan', planKey: 'team', interval: 'year'}), 200)
  await page.goto(`${here.world.url}/#/settings/plan?paid=plan&plan=team&interval=year`)
  await page.reload()
  await page.getByText('Payment received, activating your plan …').waitFor()
  const offers = page.getByRole('button', {name: /^(Choose|Buy)/})
  await offers.nth(3).waitFor()
  for (const offer of await offers.all()) assert.ok(await offer.isDisabled(), 'nothing can be bought meanwhile')
  await picture(page, 'plan-activating', {height: 1300})
  await here.billing!.payment.payCheckout(new URL(url).pathname.split('/').at(-1)!)
  await page.getByText(/^€300\.00 per year, renews on /).waitFor()
  await page.getByRole('heading', {name: /^Team active/i}).waitFor()
  assert.equal(await page.getByText('Nothing is charged').count(), 0)
  await page.getByRole('listitem').filter({hasText: 'Team'}).getByText('Current plan').waitFor()
  assert.equal(await page.getByLabel('Billing interval').inputValue(), 'year')
  await page.getByLabel('Billing interval').selectOption('month')
  await page.getByRole('button', {name: 'Pay monthly for Team'}).waitFor()
  await picture(page, 'plan-paid', {height: 1300})
  assert.deepEqual(visitor.complaints, [])
})

test('the plan page of a sandbox says who pays, and offers no trial and no purchase', async () => {
  const owner = await here.world.makeOrg()
  await here.world.hot.query('update orgs set sandbox = true where id = $1', [owner.org])
  const visitor = await here.open()
  await enter(visitor, owner.token)
  await visitor.page.goto(`${here.world.url}/#/settings/plan`)
  await visitor.page.getByText('The production org of this sandbox manages the plan and its payment.').waitFor()
  await visitor.page.getByRole('heading', {name: 'Usage', exact: true}).waitFor()
  assert.equal(await visitor.page.getByRole('main').getByRole('button').count(), 0)
  assert.deepEqual(visitor.complaints, [])
})

const suspensions = {
  'en-US': {
    unpaid: 'Open “Invoices and card”, then pay the invoice or update the card. New runs are refused until the invoice is paid.',
    byStaff: 'New runs are refused. Contact support.',
  },
  'de-DE': {
    unpaid: /^Öffnen Sie „Rechnungen und Karte“.* Bis die Rechnung bezahlt ist, werden neue Läufe abgelehnt\.$/,
    byStaff: 'Neue Läufe werden abgelehnt. Wenden Sie sich an den Support.',
  },
}

for (const [locale, {unpaid, byStaff}] of Object.entries(suspensions))
  test(`the plan page of a suspended org says why and what to do next (${locale})`, async () => {
    const owner = await here.world.makeOrg()
    await here.world.hot.query(`update orgs set plan_status = 'suspended' where id = $1`, [owner.org])
    const visitor = await here.open({locale})
    const {page} = visitor
    await enter(visitor, owner.token)
    await page.goto(`${here.world.url}/#/settings/plan`)
    await page.getByText(unpaid).waitFor()
    assert.equal(await page.getByText(byStaff).count(), 0)
    await ok(here.world.as(here.world.adminToken)('POST', `/staff/orgs/${owner.org}/suspend`, {reason: 'A test'}), 200)
    await here.world.hot.query(`update orgs set plan_status = 'active' where id = $1`, [owner.org])
    await page.reload()
    await page.getByText(byStaff).waitFor()
    assert.equal(await page.getByText(unpaid).count(), 0, 'paying does not end a suspension by staff')
    assert.deepEqual(visitor.complaints, [])
  })

test('a plan bought to follow the trial is the current plan, and an upgrade of it is recognised', async () => {
  const {page, visitor, owner, call} = await openPlanPage()
  await ok(call('POST', `/orgs/${owner.org}/trial`), 200)
  const wanted = {kind: 'plan', planKey: 'team', interval: 'month', afterTrial: true}
  const {url} = await ok(call('POST', `/orgs/${owner.org}/billing/checkout`, wanted), 200)
  await here.billing!.payment.payCheckout(new URL(url).pathname.split('/').at(-1)!)
  await until(
    () => ok(call('GET', '/billing/summary'), 200),
    ({subscription}) => subscription !== null,
  )
  await page.reload()
  await page.getByRole('listitem').filter({hasText: 'Team'}).getByText('Current plan').waitFor()
  await page.getByRole('button', {name: 'Choose Business'}).click()
  await page
    .getByRole('dialog')
    .getByRole('button', {name: /^Change/})
    .click()
  await page.getByText('Your plan is active').waitFor()
  await page.getByRole('listitem').filter({hasText: 'Business'}).getByText('Current plan').waitFor()
  assert.deepEqual(visitor.complaints, [])
})

for (const [look, options] of Object.entries({
  light: {},
  dark: {colorScheme: 'dark' as const},
  phone: {viewport: {width: 360, height: 740}},
}))
  test(`the plans for sale are usable in the look "${look}"`, async () => {
    const {page} = await openPlanPage(options)
    await settled(page)
    await assertAccessible(page, `plans, ${look}`)
    await assertFits(page, `plans, ${look}`)
    await picture(page, `plans-${look}`, {height: 1300})
  })
