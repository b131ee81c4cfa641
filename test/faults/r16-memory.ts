import {type Deployment, type FileOf, startDeployment} from '../bench/deployment.ts'
import {peakMemoryMbOf} from '../bench/process-use.ts'
import {fileOf, withExpressions} from '../bench/rows.ts'
import {until} from '../support/until.ts'
import {writeWorkbook} from '../support/workbook.ts'
import type {Scenario, Stage} from './scenario.ts'

const few = 50_000
/**
 * Rows of the larger file. A million rows would take most of a minute on a quiet machine and several on a busy one; `npm run bench` runs them.
 */
const many = 200_000
/** Limit in MiB for a process that executes imports, including its sandbox. The peaks of the API are only reported. */
const mostMib = 256
const MiB = 1024 ** 2

const named = {module: 'Accounts', fields: ['Account_Name', 'Account_Number'].map(field => ({field, mode: 'column', source: field}))}

/** Files with unusual shapes. Each creates as many records as it has rows. */
const odd: Record<string, () => Promise<FileOf>> = {
  'rows of 16,384 columns': async () => ({flow: named, csv: wideFile(200, 16_384)}),
  'cells of 1 MiB': async () => ({flow: named, csv: tallFile(40)}),
  'a workbook of 120,000 shared strings': async () => ({flow: named, csv: await workbookOf(40_000), type: workbookType}),
}

/** Runs the processes of the Procfile with their flags, and a CRM that does little work. Reads the peak memory of each from VmHWM of proc(5). */
export const memory: Scenario = {
  row: 'R16',
  fault: 'files with many rows, with 16,384 columns, with cells of a megabyte, and a workbook with many shared strings',
  goal: 'no process holds more than 256 MiB, and not more for more rows',
  async play(stage) {
    await overMany(stage, await open(stage))
    await overOdd(stage, await open(stage))
  },
}

const open = async (stage: Stage) => {
  const deployment = await startDeployment('faults_r16', {crm: ['test/bench/idle-crm.ts']})
  stage.begun(deployment.stop)
  return deployment
}

/** Compares two peaks of the same run: after the smaller number of rows, and at the end. */
const overMany = async (stage: Stage, deployment: Deployment) => {
  const running = peakAfter(stage, deployment, {csv: fileOf(many, 'm '), flow: withExpressions})
  const [large, small] = await Promise.all([running, peakAt(deployment, few)])
  stage.figure(`MiB of imports after ${few} rows`, small, {most: mostMib})
  stage.figure(`MiB of imports after ${many} rows`, large, {most: mostMib})
  stage.figure('the one over the other', large / small, {most: 1.25})
  stage.figure('MiB of the API after these', peakOf(deployment, 'web'))
  await deployment.stop()
}

const peakAt = async (deployment: Deployment, rows: number): Promise<number> => {
  await until(
    () => deployment.query<{counted: number}>('select coalesce(max(counted), 0)::int as counted from run_heads'),
    ([head]) => head!.counted >= rows,
    120,
  )
  return peakOf(deployment, 'imports')
}

const overOdd = async (stage: Stage, deployment: Deployment) => {
  for (const [name, file] of Object.entries(odd)) {
    stage.figure(`MiB of imports after ${name}`, await peakAfter(stage, deployment, await file()), {most: mostMib})
    stage.figure(`MiB of the API after ${name}`, peakOf(deployment, 'web'))
  }
}

/** Imports a file and returns the peak memory in MiB. One process imports all files of a deployment, so the peak is the highest so far. */
const peakAfter = async (stage: Stage, deployment: Deployment, file: FileOf): Promise<number> => {
  await deployment.runImport(file)
  stage.did('files imported')
  return peakOf(deployment, 'imports')
}

const peakOf = ({pidOf}: Deployment, name: 'imports' | 'web') => Math.round(peakMemoryMbOf(pidOf(name)))

const csvOf = (header: string[], rows: number, rest: (n: number) => string) =>
  Buffer.from(
    `Account_Name,Account_Number,${header.join()}\n${Array.from({length: rows}, (_, n) => `Company ${n},N-${n},${rest(n)}\n`).join('')}`,
  )

const wideFile = (rows: number, columns: number) => {
  const header = Array.from({length: columns - 2}, (_, n) => `c${n}`)
  const cells = header.map((_, n) => n % 10).join()
  return csvOf(header, rows, () => cells)
}

const tallFile = (rows: number) => {
  // A row has a limit on its characters, including its name and number.
  const cell = 'x'.repeat(MiB - 64)
  return csvOf(['long'], rows, () => cell)
}

const workbookType = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'

/** Returns a workbook with three texts per row, all different. */
const workbookOf = (rows: number) => {
  const texts = Array.from({length: rows}, (_, n) => [
    `Company of the number ${n} in a long name`,
    `N-${n}`,
    `A note that only row ${n} has`,
  ])
  const cells = texts.map((_, n) => [0, 1, 2].map(at => ({t: 's', v: n * 3 + at})))
  const items = texts.flat().map(text => `<t>${text}</t>`)
  return writeWorkbook({items, sheets: [{name: 'Companies', rows: [['Account_Name', 'Account_Number', 'note'], ...cells]}]})
}
