import {accountRows, type Org, ok} from './importing.ts'
import {type FileHost, fire, makeSchedule} from './schedules.ts'
import type {TestDeployment} from './test-deployment.ts'

export const importPath = ({org}: Pick<Org, 'org'>, {importId}: {importId: string}) => `/orgs/${org}/imports/${importId}`

/** Makes the CRM refuse the creates of companies, so that a run stops before its first row. */
export const refuseCreates = ({crm}: TestDeployment) => {
  const body = {code: 'NO_PERMISSION', details: {}, message: 'permission denied', status: 'error'}
  crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 100, action: {type: 'answer', status: 403, body}})
}

type StoppedFile = {host: FileHost; path: string; file: string}

/** Fires a schedule whose run the CRM refuses before the first row. */
export const fireStopped = async (house: TestDeployment, org: Org, {host, path, file}: StoppedFile) => {
  refuseCreates(house)
  host.serve(file)
  const firing = await fire(org, path)
  house.crm.faults.clear()
  return firing
}

/** The expected firing after `fireStopped`. */
export const refusedFiring = {outcome: 'stopped', reason: {code: 'CRM_REFUSED'}, counts: {rowsWritten: 0}}

/** A data contract that holds the files of `accountRows`. */
export const onlyRome = {sources: [{slot: 'companies', columns: [{name: 'city', values: ['Rome']}]}]}

/** Creates a schedule with a data contract, and fires it. The contract holds the first file. */
export const makeHeldFile = async (org: Org, host: FileHost, {prefix, rows = 1}: {prefix: string; rows?: number}) => {
  const made = await makeSchedule(org, host)
  await ok(org.call('PUT', `${made.template}/contract`, onlyRome), 200)
  host.serve(accountRows(rows, prefix))
  return {...made, held: await fire(org, made.path)}
}

/** Counts the companies whose number begins with `prefix`. */
export const countRecords = ({crm}: TestDeployment, prefix: string) =>
  crm.records('example', 'Accounts').filter((record: any) => record.Account_Number?.startsWith(prefix)).length
