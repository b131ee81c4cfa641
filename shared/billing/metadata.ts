import type {Config} from '../config.ts'

/** What our objects at the provider are told from others' by. */
export const APP = 'lading'

type Said = {org: string; kind: string} & Record<string, string | null>

/** Written on whatever we make there: whose it is, what for, and who asked. Nothing of a person but their id. */
export const metadataOf = (config: Pick<Config, 'PAYMENT_ENVIRONMENT'>, {org, ...said}: Said): Record<string, string> => ({
  app: APP,
  env: config.PAYMENT_ENVIRONMENT,
  org_id: org,
  ...Object.fromEntries(Object.entries(said).filter((entry): entry is [string, string] => entry[1] !== null)),
})

/** Whether what carries this was made by this deployment: another one may share the account. */
export const isOurs = (config: Pick<Config, 'PAYMENT_ENVIRONMENT'>, metadata: Record<string, string> | null | undefined): boolean =>
  metadata?.app === APP && metadata.env === config.PAYMENT_ENVIRONMENT
