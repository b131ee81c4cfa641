import assert from 'node:assert/strict'
import {readFileSync} from 'node:fs'
import {join} from 'node:path'
import {after, afterEach, before} from 'node:test'
import {type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Locator, type Page} from 'playwright-core'
import {findChromium} from '../stack/chromium.ts'
import {pathOfPicture} from '../stack/pictures.ts'
import {freePort} from '../stack/port.ts'
import {root} from '../stack/stack.ts'
import {type Deployment, type Options, openDeployment} from '../support/deployment.ts'
import {type Billing, beginSale} from '../support/selling.ts'

const axeSource = readFileSync(join(root, 'node_modules/axe-core/axe.min.js'), 'utf8')
const workers = ['archive', 'checks', 'credits', 'discovery', 'imports', 'notices', 'schedules', 'writes', 'clock']

export type Stage = {
  world: Deployment
  /** Set only if the deployment sells plans. */
  billing?: Billing
  /** Opens a page in a new browser profile. */
  open(options?: BrowserContextOptions): Promise<Visitor>
}
/** A browser window of one person. `complaints`: errors of the page, see `watch`. `asked`: every requested URL, including those of pop-ups. */
export type Visitor = {context: BrowserContext; page: Page; complaints: string[]; asked: string[]}

/**
 * Starts a deployment and a browser for one test file. Both end after its last test. `prepare` runs once before the first test. `sells`:
 * with plans for sale.
 */
export const stage = (
  label: string,
  prepare: (world: Deployment) => Promise<void> = async () => {},
  {environment: more = {}, sells = false}: {environment?: Record<string, string>; sells?: boolean} = {},
): Stage => {
  const ends: (() => Promise<unknown>)[] = []
  let browser: Browser
  const opened = {} as Stage
  before(async () => {
    const port = await freePort()
    const environment = {PORT: `${port}`, PUBLIC_URL: `http://127.0.0.1:${port}`, DEFAULT_PLAN: 'enterprise', ...more}
    const open = (options: Options) => openDeployment(label, options, end => ends.push(end))
    if (sells) opened.billing = await beginSale(open, end => ends.push(end), {workers: [...workers, 'billing'], environment})
    opened.world = opened.billing?.house ?? (await open({workers, environment}))
    browser = await chromium.launch({executablePath: findChromium() ?? 'chromium', args: ['--no-sandbox']})
    ends.push(() => browser.close())
    await prepare(opened.world)
  })
  after(async () => {
    const ended = []
    for (const end of ends.toReversed()) ended.push(...(await Promise.allSettled([end()])))
    for (const end of ended) if (end.status === 'rejected') throw end.reason
  })
  afterEach(async given => {
    for (const context of browser.contexts()) {
      for (const page of context.pages())
        if (!(given as unknown as {passed: boolean}).passed) await picture(page, `failed-${label.replaceAll(' ', '-')}`)
      await context.close()
    }
  })
  opened.open = (options = {}) => openVisitor(browser, opened.world, options)
  return opened
}

const openVisitor = async (browser: Browser, world: Deployment, options: BrowserContextOptions): Promise<Visitor> => {
  const context = await browser.newContext({viewport: {width: 1200, height: 860}, ...options})
  context.setDefaultTimeout(60_000)
  // Without the file picker, which a test cannot answer, the page saves downloads directly.
  await context.addInitScript('delete globalThis.showSaveFilePicker')
  const [complaints, asked] = [[] as string[], [] as string[]]
  context.on('request', request => asked.push(request.url()))
  const page = await context.newPage()
  watch(page, world.url, complaints)
  await page.goto(`${world.url}/`)
  return {context, page, complaints, asked}
}

/**
 * Collects script errors, violations of the page's policy, and requests to other origins. Refusals by the API do not count, because the
 * page shows them.
 */
const watch = (page: Page, ours: string, complaints: string[]) => {
  page.on('pageerror', error => complaints.push(error.message))
  page.on('console', message => {
    if (message.type() === 'error' && !/^Failed to load resource/.test(message.text())) complaints.push(message.text())
  })
  page.on('request', request => {
    const {origin, protocol} = new URL(request.url())
    if (origin !== new URL(ours).origin && !['data:', 'blob:'].includes(protocol)) complaints.push(`asked ${request.url()}`)
  })
}

/** Opens the page with an existing session. */
export const enter = async ({page, context}: Visitor, token: string): Promise<void> => {
  await context.addCookies([{name: 'lading-session', value: token, url: page.url(), httpOnly: true, sameSite: 'Lax'}])
  await page.reload()
  await page.getByRole('heading', {level: 1, name: /^Import[se]$/}).waitFor()
}

/** Signs in through the pop-up. Ends on the list of imports. */
export const signIn = async ({page, context}: Visitor, user = 'ana@example.org'): Promise<void> => {
  const waiting = context.waitForEvent('page')
  await page.getByRole('button', {name: 'Continue with your CRM'}).click()
  await allow(await waiting, user)
  await page.getByRole('heading', {level: 1, name: 'Imports'}).waitFor()
}

/** Grants access in the pop-up of the CRM stand-in. */
export const allow = async (popUp: Page, user = 'ana@example.org'): Promise<void> => {
  await popUp.getByLabel(/Sign in as/).selectOption({value: user})
  await popUp.getByRole('button', {name: 'Allow'}).click()
}

/** Waits until the page shows no loading state. */
export const settled = async (page: Page): Promise<void> => {
  for (const busy of ['.loading', 'main [aria-busy="true"]']) await page.locator(busy).first().waitFor({state: 'detached'})
}

/** Asserts that axe finds no violation. It runs through DevTools, because the page's policy blocks scripts. */
export const assertAccessible = async (page: Page, where: string): Promise<void> => {
  const session = await page.context().newCDPSession(page)
  await session.send('Runtime.evaluate', {expression: axeSource})
  const {result, exceptionDetails} = await session.send('Runtime.evaluate', {
    expression: `axe.run(document, {resultTypes: ['violations']}).then(({violations}) => JSON.stringify(violations.map(({id, impact, nodes}) => ({id, impact, nodes: nodes.map(({target}) => target.join(' '))}))))`,
    awaitPromise: true,
    returnByValue: true,
  })
  await session.detach()
  assert.equal(exceptionDetails, undefined, `axe ran on ${where}`)
  const found = JSON.parse(result.value) as {id: string; impact: string; nodes: string[]}[]
  assert.deepEqual(found, [], `axe finds nothing on ${where}`)
}

/** Asserts that the page does not scroll sideways. */
export const assertFits = async (page: Page, where: string): Promise<void> => {
  const over = await page.evaluate(() => (globalThis as any).document.documentElement.scrollWidth - (globalThis as any).innerWidth)
  assert.ok(over <= 0, `${where} is moved sideways by ${over} px`)
}

type Shot = {height?: number; from?: Locator}

/**
 * Takes a screenshot without toasts. `height`: the height of the page in px. `from`: the element to scroll to. The README shows some
 * screenshots.
 */
export const picture = async (page: Page, name: string, {height, from}: Shot = {}): Promise<void> => {
  const size = page.viewportSize()!
  if (height) await page.setViewportSize({...size, height})
  await from?.evaluate(element => (element as any).scrollIntoView())
  const show = (visibility: string) =>
    page.locator('.toasts').evaluateAll((found, value) => {
      for (const one of found) (one as any).style.visibility = value
    }, visibility)
  await show('hidden')
  await page.screenshot({path: pathOfPicture(name), animations: 'disabled'})
  await show('')
  if (height) await page.setViewportSize(size)
}
