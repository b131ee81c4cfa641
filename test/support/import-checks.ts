import type {ExecutionContext} from 'ava'
import {type Org, ok, prepareImport} from './importing.ts'

/** Checks an import and waits for the end of the job. Returns the job and all problems. */
export const checkImport = async ({call}: Org, path: string, limit = 100) => {
  const {job} = await ok(call('POST', `${path}/checks`, undefined, {prefer: 'wait=60'}), 200)
  return {job, ...(await readChecks(call, path, limit))}
}

export const readChecks = async (call: Org['call'], path: string, limit = 100) => {
  const problems: any[] = []
  let checks: any
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: any = await ok(call('GET', `${path}/checks?limit=${limit}${cursor && `&cursor=${cursor}`}`), 200)
    problems.push(...page.problems)
    checks = page.checks
    cursor = page.nextCursor
  }
  return {checks, problems}
}

export const checkFile = async (org: Org, csv: string, flow: object | object[]) => {
  const prepared = await prepareImport(org, {csv, flow})
  return {...prepared, ...(await checkImport(org, prepared.path))}
}

export const ofKind = (problems: any[], kind: string) => problems.filter(problem => problem.kind === kind)

export const column = (field: string, source: string, more: object = {}) => ({field, mode: 'column', source, ...more})
export const orders = (...fields: object[]) => ({module: 'Orders', fields: [column('Name', 'name'), ...fields]})
/** Asserts the number of problems, and for each its expected properties. */
export const assertLike = (t: ExecutionContext, problems: any[], expected: object[]) => {
  t.is(problems.length, expected.length, JSON.stringify(problems))
  for (const [at, one] of expected.entries()) t.like(problems[at], one)
}
export const kindsOf = (problems: any[]) => problems.map(({severity, kind}) => `${severity} ${kind}`)
