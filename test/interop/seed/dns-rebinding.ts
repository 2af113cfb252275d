const transport = new StreamableHTTPServerTransport({
  sessionIdGenerator: () => randomUUID(),
  enableDnsRebindingProtection: true,
  allowedHosts: ['127.0.0.1'],
  allowedOrigins: ['https://yourdomain.com', 'https://www.yourdomain.com']
});
