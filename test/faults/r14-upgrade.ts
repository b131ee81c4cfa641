import {setTimeout as sleep} from 'node:timers/promises'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {prepareFiles} from '../support/lookups.ts'
import {until} from '../support/until.ts'
import {carryCase} from './carried.ts'
import {writeCase} from './cases.ts'
import type {Scenario, Stage} from './scenario.ts'
import {type Build, checkOutOld, copyBuild} from './upgrade-builds.ts'
import {everyMs} from './upgrade-locks.ts'
import {judgeNext, writeNext} from './upgrade-next.ts'
import {type Crew, openSite, type Site, startCrew} from './upgrade-site.ts'

/** Kinds of imports in `cases.ts` without existing records. A slow CRM needs most of a minute to write their rows. */
const plays = [
  {lay: 1, rows: 6_000},
  {lay: 2, rows: 2_000},
  {lay: 4, rows: 2_000},
]
/** The CRM's latency in ms: slow until another build has taken over the run, then quick. */
const [slowMs, quickMs] = [1_500, 10]
const quietMs = 3_000
const longestLockMs = 200

/** A release migrates the database while the previous build uses it. Both builds serve, the previous build stops, and later it serves again. */
export const upgrade: Scenario = {
  row: 'R14',
  fault: 'the next build migrates a database in use and serves beside the one before, which leaves, killed, and comes back; three releases',
  goal: 'no answer of 500 or more, no wait of 200 ms for a migration, p99 at most doubled, and each build finishes runs of the other',
  async play(stage) {
    const [old, now] = await Promise.all([checkOutOld(stage.begun), copyBuild(stage.begun, 'now')])
    const next = await writeNext(stage.begun, now)
    for (const say of judgeNext()) stage.expect(false, say)
    const site = await openSite(stage, old.build ?? now)
    const story = openStory(stage, site)
    if (old.build) {
      await story.handOver(now, {release: true})
      await story.handOver(old.build)
    } else process.stderr.write(`R14: no older build is played, only those to come: ${old.why}\n`)
    stage.figure('older build played', Number(old.build !== null))
    await story.handOver(next.expanding, {release: true})
    await story.handOver(now)
    await story.handOver(next.expanding, {imports: false})
    await story.handOver(next.contracting, {release: true})
    await story.handOver(next.expanding)
    await story.tell()
  },
}

type Span = [from: number, to: number]
type HandOver = {release?: boolean; imports?: boolean}

const openStory = (stage: Stage, site: Site) => {
  let crew = site.crew
  const [quiet, releasing]: [Span[], Span[]] = [[], []]
  let migrations = 0
  let passed = 0

  const release = async (build: Build) => {
    const from = performance.now()
    await sleep(quietMs)
    const began = performance.now()
    const lines = await site.fleet.release(build)
    quiet.push([from, began])
    releasing.push([began, performance.now()])
    for (const line of lines) migrations += appliedIn(line)
    stage.did('releases')
    await expectWell(stage, crew)
  }

  return {
    /** Switches from the current build to `build`. Unless `imports` is false, the current build starts a run, and `build` finishes it. */
    async handOver(build: Build, {release: releases = false, imports = true}: HandOver = {}) {
      const before = crew
      const beginning = imports ? beginRun(stage, site, passed) : null
      if (releases) {
        await beginning
        await release(build)
      }
      crew = await startCrew(site.fleet, build, {after: beginning})
      const carried = await beginning
      if (releases) await expectFiles(stage, before, crew)
      const how = passed++ % 2 ? 'SIGTERM' : 'SIGKILL'
      await carried?.expectUnderWay()
      await before.end(how)
      stage.did(how === 'SIGKILL' ? 'builds killed' : 'builds drained')
      await carried?.finish()
    },
    async tell() {
      await site.load.stop()
      await site.watch.stop()
      tellFigures(stage, site, {quiet, releasing, migrations})
    },
  }
}

/** Returns the number of migrations that a log line of a release reports. */
const appliedIn = (line: string): number => {
  const {applied = []} = line.startsWith('{') ? JSON.parse(line) : {}
  return applied.length
}

/** Starts a run in the current build with a slow CRM, so that another build must finish the run. */
const beginRun = async (stage: Stage, {ground, crm, db}: Site, turn: number) => {
  const {lay, rows} = plays[turn % plays.length]!
  const laid = {...writeCase(lay + 5 * turn, stage.dice, rows), start: {}}
  const prepared = {laid, known: new Set<string>(), ...(await prepareFiles(ground.org, laid.files, laid.flows))}
  crm.setSwitches({latencyMs: slowMs})
  const begun = Promise.withResolvers<string>()
  const over = Promise.withResolvers<void>()
  const carrying = carryCase(ground, prepared, ({run}) => {
    begun.resolve(run)
    return over.promise
  })
  carrying.catch(begun.reject)
  const run = await begun.promise
  const head = () =>
    db.one(sql.type(z.object({state: z.string(), fence: z.number(), entries: z.number()}))`
      select state, fence, next_seq - 1 as entries from runs join run_heads using (run_no) where id = ${run}`)
  const first = await until(head, ({fence, entries}) => fence > 0 && entries > 0)
  return {
    async expectUnderWay() {
      const {state} = await head()
      stage.expect(state !== 'ended', `the run had ended before another build could carry it on: ${laid.name}`)
    },
    async finish() {
      await until(head, ({state, fence}) => state === 'ended' || fence > first.fence)
      crm.setSwitches({latencyMs: quickMs})
      over.resolve()
      const carried = await carrying
      stage.judged(await carried.judge())
      stage.did('runs carried on by the other build')
      stage.did(
        'rows of them',
        laid.parts.reduce((sum, {tags}) => sum + tags.length, 0),
      )
    },
  }
}

/** Checks that a build is healthy on a database with newer migrations. */
const expectWell = async (stage: Stage, {api, build}: Crew) => {
  const answer = await fetch(`${api}/health?deep=1`)
  stage.expect(answer.ok, `the ${build.name} build on a newer database: ${answer.status} ${await answer.text()}`)
}

/**
 * Requests a file of one build's page from the other build, as happens behind a shared address. A successful answer must not be cacheable,
 * because it is the other build's file.
 */
const expectFiles = async (stage: Stage, ...crews: [Crew, Crew]) => {
  for (const [one, other] of [crews, crews.toReversed()] as [Crew, Crew][]) {
    const page = await (await fetch(`${one.api}/`)).text()
    const [, file] = /<script type="module" src="([^"]+)"/.exec(page) ?? []
    // Skips early builds, which had no widget, and builds whose widget is equal.
    if (!file || (await (await fetch(`${other.api}/`)).text()).includes(file)) continue
    const answer = await fetch(`${other.api}${file}`)
    await answer.body?.cancel()
    const isKept = answer.ok && answer.headers.get('cache-control') !== 'no-store'
    stage.expect(!isKept, `the ${other.build.name} build answers ${file} of the ${one.build.name} build with its own, to be kept`)
    stage.did('files asked of the other build')
  }
}

type TellFiguresInput = {quiet: Span[]; releasing: Span[]; migrations: number}

const tellFigures = (stage: Stage, {load, watch}: Site, {quiet, releasing, migrations}: TellFiguresInput) => {
  const failed = load.asked.filter(({status}) => status >= 500)
  for (const {what, status, by, text} of failed.slice(0, 5)) stage.expect(false, `${status} of ${what} by ${by}: ${text.slice(0, 300)}`)
  stage.figure('requests', load.asked.length, {least: 1_000})
  stage.figure('answers of 500 and more', failed.length, {most: 0})
  const held = Math.max(0, ...watch.held.values())
  const [what] = [...watch.held].find(([, ms]) => ms === held) ?? []
  process.stderr.write(`R14: held longest ${what}; waited longest for ${watch.waited.what}\n`)
  stage.figure('looks at locks', watch.looks, {least: 100})
  stage.figure('ms from look to look (p99)', watch.lookMs())
  stage.figure('ms a lock that keeps writers away was held', held, {most: longestLockMs})
  stage.figure('ms anybody waited for a release', watch.waited.longestMs, {most: longestLockMs})
  stage.figure('migrations', migrations, {least: 1})
  const [before, during] = [load.p99(quiet), load.p99(releasing)]
  stage.figure('p99 before, ms', before)
  // On a machine without spare capacity, every program start doubles the latency, so the ratio then has no limit.
  const hasRoom = watch.lookMs() < 5 * everyMs
  stage.figure('p99 while a release migrates ÷ before', during / before, hasRoom ? {most: 2} : undefined)
}
