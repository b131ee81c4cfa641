import {contentType} from '../../shared/telemetry/metrics/scrape.ts'
import {File} from '../answers/common.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'

export default [
  route({
    method: 'get',
    path: '/metrics',
    operationId: 'readMetrics',
    tag: 'Service',
    access: {operator: true, scrape: true},
    summary: 'Read the metrics of this process and of the deployment',
    description:
      'Accepts `METRICS_TOKEN`, which works on no other route. If Postgres is down, it returns only the metrics of the process (`lading_deployment_read 0`). It is refused in maintenance mode. Alert rules are in `shared/telemetry/metrics/alerts.yml`.',
    answers: {200: File('text/plain', 'Metrics in the Prometheus text format, version 0.0.4')},
    refusals: [],
    async handle({metrics}) {
      return reply({headers: {'content-type': contentType, 'cache-control': 'no-store'}, body: await metrics.text()})
    },
  }),
]
