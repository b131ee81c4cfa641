import type {Hot, Pool} from '../../../sql/database.ts'
import type {Config} from '../../config.ts'
import type {Log} from '../log.ts'
import {openDeploymentFigures} from './deployment.ts'
import {lookAtPools, watchPools} from './pools.ts'
import {registry, watchProcess} from './registry.ts'

export type Metrics = {
  text(): Promise<string>
  close(): void
}

/** The content type of Prometheus' text format, version 0.0.4. */
export const contentType = registry.contentType

export const openMetrics = (tools: {
  db: Pool
  hot: Hot
  config: Pick<Config, 'STORAGE_DIR' | 'S3_BUCKET' | 'LEASE_SECONDS'>
  log: Log
}): Metrics => {
  const close = watchPools(tools)
  const deployment = openDeploymentFigures(tools)
  return {
    async text() {
      watchProcess()
      lookAtPools()
      const [own, all] = await Promise.all([registry.metrics(), deployment.text()])
      return `${own.trimEnd()}\n${all}`
    },
    close,
  }
}
