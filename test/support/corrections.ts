import {type Org, ok, untilEnded} from './importing.ts'

type ImportRun = {id: string}

export const csv = {'content-type': 'text/csv'}

/** Returns requests of an org about the failed rows of a run. `path`: the API path of the import. */
export const openCorrections = (orgOf: () => Org) => ({
  failedOf: async (path: string, run: ImportRun): Promise<string> => (await orgOf().call('GET', `${path}/failed.csv?run=${run.id}`)).text,
  correct: (path: string, run: ImportRun, body: string) => orgOf().call('POST', `${path}/runs/${run.id}/corrections`, body, csv),
  /** Retries a run, and returns the retry once it has ended. */
  retry: async (path: string, of: ImportRun) => {
    const {call} = orgOf()
    const {run} = await ok(call('POST', `${path}/runs`, {retryOf: of.id}), 202)
    return untilEnded(call, `${path}/runs/${run.id}`)
  },
})
