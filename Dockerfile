FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
# Everything native that runs in production is prebuilt inside its package.
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM node:24-bookworm-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json /app/LICENSE ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
# A new volume takes over who owns the folder: the gateway's tokens are written as this user.
RUN install --directory --owner=node --group=node --mode=0700 /var/lib/holdpoint
USER node
ENTRYPOINT ["node", "dist/cli/main.js"]
CMD ["worker"]
